// The theme that was chosen, before the first paint: light, dark, or that of the system.
(() => {
  "use strict";
  try {
    const chosen = localStorage.getItem("headstart-theme");
    if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  } catch {
    // Storage is blocked: the system's theme it is.
  }
})();

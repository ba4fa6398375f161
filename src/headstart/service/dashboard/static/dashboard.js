// Live refresh, the theme button and the chooser of bandits. Every page works without it.
(() => {
  "use strict";
  const live = document.getElementById("live");
  const button = document.getElementById("live-button");
  const state = document.getElementById("live-state");
  const notice = document.getElementById("live-notice");

  const openKeys = () =>
    new Set([...live.querySelectorAll("details[open][data-key]")].map((d) => d.dataset.key));

  const focusable = () => [...live.querySelectorAll("a, summary, button, input, select")];

  // Put the new content in place of the old: what was open stays open, the focus stays.
  function show(html) {
    const open = openKeys();
    const focused = focusable().indexOf(document.activeElement);
    const scrolled = [...live.querySelectorAll(".scroll")].map((e) => [e.scrollLeft, e.scrollTop]);
    const parsed = new DOMParser().parseFromString(html, "text/html");
    live.replaceChildren(...parsed.body.childNodes);
    for (const details of live.querySelectorAll("details[data-key]")) {
      if (open.has(details.dataset.key)) details.open = true;
    }
    [...live.querySelectorAll(".scroll")].forEach((e, i) => {
      if (scrolled[i]) [e.scrollLeft, e.scrollTop] = scrolled[i];
    });
    if (focused >= 0) focusable()[focused]?.focus({ preventScroll: true });
  }

  // Whether somebody selects text or fills in a form, which a refresh would undo.
  function busyReading() {
    if (live.querySelector("form :is(input, select):focus")) return true;
    const selection = document.getSelection();
    return selection && !selection.isCollapsed && live.contains(selection.anchorNode);
  }

  if (live && "live" in live.dataset && button) {
    let paused = false;
    let last = null;
    let busy = false;

    const say = (text, kind) => {
      if (state.textContent === text) return;
      state.textContent = text;
      button.dataset.kind = kind;
      notice.textContent = kind === "lost" ? "The service does not answer" : "";
    };

    async function refresh() {
      if (paused || busy || document.hidden || busyReading()) return;
      busy = true;
      try {
        const response = await fetch(location.href, {
          headers: { "X-Headstart-Fragment": "1" },
          signal: AbortSignal.timeout(10000),
        });
        if (response.status === 401) return location.reload();
        if (!response.ok) throw new Error(String(response.status));
        const { html } = await response.json();
        if (!paused && html !== last) {
          if (last !== null || html !== live.innerHTML) show(html);
          last = html;
        }
        if (!paused) say("Live", "live");
      } catch {
        if (!paused) say("No answer", "lost");
      } finally {
        busy = false;
      }
    }

    button.hidden = false;
    button.addEventListener("click", () => {
      paused = !paused;
      button.setAttribute("aria-pressed", String(!paused));
      say(paused ? "Paused" : "Live", paused ? "paused" : "live");
      refresh();
    });
    document.addEventListener("visibilitychange", refresh);
    setInterval(refresh, 1000 * Number(live.dataset.live));
  }

  const theme = document.getElementById("theme-button");
  if (theme) {
    const root = document.documentElement;
    const dark = () =>
      root.dataset.theme
        ? root.dataset.theme === "dark"
        : matchMedia("(prefers-color-scheme: dark)").matches;
    const name = () => {
      theme.textContent = dark() ? "Light" : "Dark";
      theme.setAttribute("aria-label", dark() ? "Use light colours" : "Use dark colours");
    };
    theme.hidden = false;
    name();
    theme.addEventListener("click", () => {
      root.dataset.theme = dark() ? "light" : "dark";
      try {
        localStorage.setItem("headstart-theme", root.dataset.theme);
      } catch {
        // Storage is blocked: the choice lasts for this page.
      }
      name();
    });
  }

  // On a phone the tabs scroll: show the one of this page.
  const tab = document.querySelector(".tabs [aria-current]");
  if (tab) tab.parentElement.scrollLeft = tab.offsetLeft - tab.parentElement.offsetLeft - 40;

  for (const select of document.querySelectorAll("select[data-submit]")) {
    select.addEventListener("change", () => {
      // On the page of one task or decision another bandit has none of it: show its list.
      select.form.action = location.pathname.replace(/\/(task|decision)$/, "/$1s");
      select.form.submit();
    });
  }
})();

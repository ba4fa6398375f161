"""The dashboard: pages that show whether the warm start pays, and why each arm was chosen."""

from headstart.service.dashboard.routes import routes

__all__ = ["routes"]

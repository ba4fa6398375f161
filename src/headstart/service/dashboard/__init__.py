"""The dashboard: pages that show whether the warm start pays, and why each arm was chosen."""

from headstart.service.dashboard.routes import application, routes

__all__ = ["application", "routes"]

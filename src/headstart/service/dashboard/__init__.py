"""The dashboard: pages that show whether the warm start pays, and why each arm was chosen."""

from headstart.service.dashboard.app import application

__all__ = ["application"]

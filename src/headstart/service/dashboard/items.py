"""Items: the catalogue, with its items' attributes as they were given."""

from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import attributes, page
from headstart.service.dashboard.formats import number, signed
from headstart.service.engine.configuration import model_of
from headstart.service.engine.records import item_effects
from headstart.service.engine.service import Service
from headstart.service.store.queries.bandits import BanditRow, items_of, n_items

_ROWS = 50
_SHOWN_COLUMNS = 12


def items(service: Service, request: Request) -> Response:
    """`GET /items`: in the order of their ids."""
    after = request.query_params.get("after") or None

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        found = items_of(connection, bandit.id, after=after, limit=_ROWS + 1)
        schema = bandit.schema
        names = bandit.feature_names if schema is None else [one.name for one in schema.item]
        shown = names[:_SHOWN_COLUMNS]
        rows: list[dict[str, Any]] = [
            {
                "id": item.id,
                "tags": item.tags,
                "cells": attributes.cells(shown, item.attributes or {})
                if schema is not None
                else [number(x) for x in item.features[:_SHOWN_COLUMNS].tolist()],
            }
            for item in found[:_ROWS]
        ]
        effects = item_effects(connection, bandit, model_of(bandit.configuration, service.clock))
        for row in rows:
            row["effect"] = signed(effects[row["id"]]) if row["id"] in effects else None
        return {
            "rows": rows,
            "has_effects": bool(effects),
            "names": shown,
            "hidden": len(names) - len(shown),
            "has_tags": any(row["tags"] for row in rows),
            "n": n_items(connection, bandit.id),
            "after": after,
            "next": rows[-1]["id"] if len(found) > _ROWS else None,
        }

    return page.bandit_page(service, request, "items", "items.html", gather, live=0)

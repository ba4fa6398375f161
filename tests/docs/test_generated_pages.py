"""Pages that are generated: from the program, from an OpenAPI document, from other files."""

from pathlib import Path

import pytest
from docs.building import api_pages, gallery, outside
from docs.building.files import write_changed
from docs.building.openapi import openapi_page, service_document
from docs.building.public import documented_names

ROOT = Path(__file__).parents[2]
DOCUMENT = {
    "openapi": "3.1.0",
    "info": {"title": "A service", "description": "What it does."},
    "paths": {
        "/tasks/{name}/decisions": {
            "post": {
                "summary": "Decide",
                "parameters": [
                    {
                        "name": "name",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "string"},
                        "description": "The task | its name",
                    }
                ],
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/c/schemas/Offer"}}}
                },
                "responses": {
                    "200": {
                        "description": "Decided.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    },
                    "422": {"description": "Refused."},
                },
            }
        }
    },
    "components": {
        "schemas": {
            "Offer": {
                "description": "Arms to choose from.",
                "required": ["arms"],
                "properties": {
                    "arms": {"type": "array", "items": {"type": "number"}},
                    "n": {"anyOf": [{"type": "integer"}, {"type": "null"}], "default": None},
                    "pair": {"type": "array", "prefixItems": [{"type": "number"}, True]},
                    "more": {"type": "array", "items": {}},
                    "none": {"type": "array", "items": False},
                    "mode": {"enum": ["a", 1]},
                },
            },
            "Outcome": {"enum": ["paid", "duplicate"]},
        }
    },
}


def test_an_openapi_document_becomes_a_page() -> None:
    page = openapi_page(DOCUMENT)
    assert page.startswith("# A service\n\nWhat it does.\n")
    assert "## POST /tasks/{name}/decisions\n\nDecide\n" in page
    assert "| `name` | path | string | The task \\| its name |" in page
    assert "Body: [Offer](#schema-offer) as `application/json`" in page
    assert "| 422 |  | Refused. |" in page
    assert "(schema-offer)=\n### Offer" in page
    assert "| `arms` | array of number | required |  |" in page
    assert "| `n` | integer or null | `null` |  |" in page
    assert "| `pair` | array of number, any |" in page
    assert "| `more` | array of any |" in page
    assert "| `none` | array of nothing |" in page
    assert '| `mode` | `"a"` or `1` |' in page
    assert 'One of `"paid"`, `"duplicate"`.' in page


def test_every_path_and_message_of_the_service_is_on_its_page() -> None:
    document = service_document()
    page = openapi_page(document)
    for path, operations in document["paths"].items():
        for method in operations:
            assert f"## {method.upper()} {path}\n" in page
    names = document["components"]["schemas"]
    assert "DecisionRequest" in names
    assert all(f"(schema-{name.lower()})=\n### {name}\n" in page for name in names)


def test_an_empty_document_is_a_title() -> None:
    assert openapi_page({}) == "# Interface\n"


def test_every_public_name_has_a_page_of_its_own(tmp_path: Path) -> None:
    api_pages.write_api_pages(tmp_path)
    written = {path.stem for path in tmp_path.iterdir()}
    assert {name.full for name in documented_names()} <= written
    assert (
        ".. autoclass:: headstart.MetaBandit" in (tmp_path / "headstart.MetaBandit.rst").read_text()
    )


def test_the_first_sentence_does_not_end_at_an_abbreviation() -> None:
    (average,) = (n for n in documented_names() if n.full == "headstart.priors.Average")
    assert api_pages.first_sentence(average).startswith("AVG-OFUL (Eq. 7): h = Σ")


def test_equal_pages_are_left_alone_and_old_ones_removed(tmp_path: Path) -> None:
    write_changed(tmp_path, {"a.md": "1", "b.md": "2"})
    before = (tmp_path / "a.md").stat().st_mtime_ns
    write_changed(tmp_path, {"a.md": "1"})
    assert (tmp_path / "a.md").stat().st_mtime_ns == before
    assert [path.name for path in tmp_path.iterdir()] == ["a.md"]


def test_links_out_of_the_docs_lead_into_the_site() -> None:
    folder = ROOT / "docs" / "how-to"
    page = (
        "[league](../../benchmarks/league.md#rows) [code](../../tests/naive.py) "
        "[design](../design.md) [x](https://x.org/a.md) ![p](../figures/demo.png)"
    )
    assert outside.led_inside(page, folder, folder) == (
        "[league](../generated/project/league.md#rows) code "
        "[design](../design.md) [x](https://x.org/a.md) ![p](../figures/demo.png)"
    )


def test_pages_of_the_project_link_from_where_they_are_shown() -> None:
    shown = outside.project_pages()["contributing.md"]
    assert "](../../design.md)" in shown
    assert set(outside.PAGES.values()) == set(outside.project_pages())


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs" / "gallery").glob("*.py")), ids=lambda path: path.stem
)
def test_a_picture_of_the_gallery_takes_less_than_30_lines(path: Path) -> None:
    code = path.read_text(encoding="utf-8").split('"""', 2)[2]
    assert 5 < len([line for line in code.splitlines() if line.strip()]) < 30
    assert gallery.position(path.name) >= 0


def test_the_order_of_the_gallery_names_its_files() -> None:
    files = {path.stem for path in (ROOT / "docs" / "gallery").glob("*.py")}
    assert files == set(gallery.ORDER)
    assert len(files) >= 10

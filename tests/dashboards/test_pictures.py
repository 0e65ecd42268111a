from kit.dashboards_folder import PICTURED, PICTURES, SHEETS, THEMES, VIEWS, digest_of_pages


def test_every_page_has_a_screenshot_in_light_and_dark_theme() -> None:
    wanted = {f"{name}-{theme}.png" for name in (*VIEWS, *SHEETS) for theme in THEMES}
    assert {file.name for file in PICTURES.glob("*.png")} == wanted


def test_screenshots_match_digest_of_current_pages() -> None:
    assert PICTURED.read_text(encoding="utf-8").strip() == digest_of_pages(), "take them anew: make pictures"


def test_tour_shows_every_page() -> None:
    tour = (PICTURES.parent / "tour.md").read_text(encoding="utf-8")
    assert [view for view in VIEWS if f"pictures/{view}-light.png" not in tour] == []


def test_contact_sheets_are_shown_in_the_docs() -> None:
    pages = (PICTURES.parent / "pages.md").read_text(encoding="utf-8")
    assert [name for name in SHEETS for theme in THEMES if f"pictures/{name}-{theme}.png" not in pages] == []

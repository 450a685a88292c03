"""What tests look for in a page of docs: sections, blocks, tables, code, and quoted names."""

import re


def section(page: str, title: str) -> str:
    """Return the text under a heading, up to the next one of its level or above."""
    found = re.search(rf"^(#+) {re.escape(title)}\n", page, re.M)
    assert found, f"the page has no section {title!r}"
    return re.split(
        rf"^#{{1,{len(found[1])}}} ", page[found.end() :], maxsplit=1, flags=re.M
    )[0]


def block(page: str, name: str) -> str:
    """Return the text between ``<!-- name -->`` and ``<!-- /name -->``, which is there once."""
    (found,) = re.findall(rf"<!-- {name} -->\n(.*?)<!-- /{name} -->", page, re.S)
    return str(found)


def table(text: str) -> list[list[str]]:
    """Return the rows of the one table in a text, without its head."""
    _, _, *lines = [line for line in text.splitlines() if line.startswith("|")]
    return [
        [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines
    ]


def code(page: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.M | re.S)


def quoted(text: str) -> list[str]:
    """Return what stands in back quotes."""
    return re.findall(r"`([^`\n]+)`", text)


def anchors(page: str) -> set[str]:
    """Return what a link may name of a page: its headings, as GitHub spells them."""
    text = re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S)
    titles = re.findall(r"^#+ (.+)$", text, re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}

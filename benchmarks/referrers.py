"""Channels that the rules assign to all hosts in conf/, by kind of site, as a Markdown table."""

import argparse
from collections import Counter
from collections.abc import Iterable

import yaml

from folds.records.channels import ChannelRules, Visit, load_channel_rules
from lakehouse.settings import load_settings

_PAGE, _COUNTRY = "https://shop.example/", "de"
_KINDS = {
    "ai": "AI assistants",
    "social": "social sites",
    "search": "search engines",
    "email": "webmail, dereferrers, newsletters",
    "ads": "ad servers",
    "affiliates": "affiliate networks",
    "other": "other hosts of these sites",
    "excluded": "payment, single sign-on, own hosts",
}


def tabulate() -> list[str]:
    """One row per kind: hosts in the list, hosts added by us, and the channels of visits from them."""
    conf = load_settings().conf
    rules = load_channel_rules(conf)
    document = yaml.safe_load((conf / "channels.yml").read_text(encoding="utf-8"))
    listed = yaml.safe_load((conf / "referrers.yml").read_text(encoding="utf-8"))["hosts"]
    ours = {kind: site["hosts"] for kind, site in document["sites"].items()}
    ours["excluded"] = [*document["excluded_referrers"], *document["own_hosts"]]
    table = [
        "| hosts of | channels of visits from there | in the list | added | of the list, otherwise |",
        "| --- | --- | ---: | ---: | --- |",
    ]
    for kind, name in _KINDS.items():
        there, added = (
            listed.get(kind, []),
            [entry for entry in ours[kind] if entry not in listed.get(kind, [])],
        )
        found = {entry: channel_of(entry, rules) for entry in (*there, *added)}
        counts = Counter(found.values()).most_common()
        usual = counts[0][0]
        others = [f"`{entry}` {found[entry]}" for entry in there if found[entry] != usual]
        channels = ", ".join(f"{channel} {count:,}" for channel, count in counts)
        table.append(f"| {name} | {channels} | {_count(there)} | {_count(added)} | {', '.join(others)} |")
    return table


def channel_of(entry: str, rules: ChannelRules) -> str:
    """The channel of a visit from a host entry. `{}` is replaced by `de`, `*` by a subdomain."""
    host = entry.replace("*.", "sub.").replace("{}", _COUNTRY)
    return rules.classify(Visit(url=_PAGE, referrer=f"https://{host}"))[0]


def _count(entries: Iterable[str]) -> str:
    return f"{len(list(entries)):,}"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(prog="python -m benchmarks.referrers", description=__doc__).parse_args()
    print("\n".join(tabulate()))


if __name__ == "__main__":
    main()

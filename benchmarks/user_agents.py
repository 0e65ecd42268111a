"""Share of a checkout of device-detector's user agents that conf/ takes for bots, and the time for one."""

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from benchmarks.bench import print_table
from folds.visitors.user_agents import AgentRules, load_agent_rules
from lakehouse.settings import load_settings

SEED, SAMPLE = 0, 500
_BOTS = "bots.yml"
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def read_bots(checkout: Path) -> list[str]:
    """User agents of Tests/fixtures/bots.yml, sorted."""
    return sorted({entry["user_agent"] for entry in _entries(checkout / "Tests/fixtures" / _BOTS)})


def read_browsers(checkout: Path) -> list[str]:
    """User agents of all devices in Tests/fixtures whose client is a browser, sorted."""
    files = [file for file in (checkout / "Tests/fixtures").glob("*.yml") if file.name != _BOTS]
    return sorted(
        {
            entry["user_agent"]
            for file in files
            for entry in _entries(file)
            if isinstance(entry.get("client"), dict) and entry["client"].get("type") == "browser"
        }
    )


def _entries(file: Path) -> Iterator[dict[str, object]]:
    yield from yaml.load(file.read_text(encoding="utf-8"), Loader=_LOADER)


def _row(name: str, agents: Sequence[str], rules: AgentRules) -> list[str]:
    start = time.process_time()
    taken = sum(rules.matched_by(agent) is not None for agent in agents)
    micros = (time.process_time() - start) / len(agents) * 1e6
    return [name, f"{len(agents):,}", f"{taken:,}", f"{taken / len(agents):.2%}", f"{micros:.0f}"]


def main() -> None:
    """Measure, and print a table and the browsers that were taken for bots."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("checkout", type=Path, help="folder of a checkout of matomo-org/device-detector")
    checkout = parser.parse_args().checkout
    rules = load_agent_rules(load_settings().conf)
    rules.matched_by("")  # compiles them
    bots, browsers = read_bots(checkout), read_browsers(checkout)
    chosen = random.Random(SEED).sample(browsers, SAMPLE)
    lists = {"bots": bots, f"{SAMPLE} of the browsers": chosen, "browsers": browsers}
    rows = [_row(name, agents, rules) for name, agents in lists.items()]
    print_table("device-detector", ("user agents", "number", "bots", "share", "µs each"), rows)
    for agent in browsers:
        if matched := rules.matched_by(agent):
            print(f"{matched}\n  {agent}")


if __name__ == "__main__":
    main()

"""A cost file as text."""

from millrace.clients.costs.cost_file import CostFile
from millrace.local.process.state_files import one_line


def describe_costs(file: CostFile) -> str:
    """Platform, period, costs by currency, and what was left out, in one line."""
    days = sorted({day for _, day in file.days})
    costs = ", ".join(f"{cost:,.2f} {currency}" for currency, cost in sorted(file.total.items()))
    period = f"{days[0]} to {days[-1]}" if len(days) > 1 else f"{days[0]}"
    accounts = ", ".join(sorted({account for account, _ in file.days}))
    return (
        f"{file.platform}, account {accounts}, {period} ({len(days):,} days), {len(file.rows):,} rows, "
        f"{costs}; {file.left_out:,} totals left out"
    )


def cost_file_json(file: CostFile) -> str:
    """The same as a JSON object in one line."""
    days = sorted({day.isoformat() for _, day in file.days})
    return one_line(
        {
            "platform": file.platform,
            "accounts": sorted({account for account, _ in file.days}),
            "days": days,
            "rows": len(file.rows),
            "cost": {currency: str(cost) for currency, cost in sorted(file.total.items())},
            "left_out": file.left_out,
        }
    )

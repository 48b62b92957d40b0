#!/usr/bin/env python3
"""Prints a baseline of collectives-merge.py as markdown.

    scripts/collectives-table.py baseline.json > table.md

A time is the median of all turns, in microseconds, with half the distance between the fastest
and the slowest turn behind it. Where gpurun's fastest algorithm, by its own grid or by auto's, takes at most 1%
longer or shorter than the fastest peer they are level; what is behind is in bold.
"""

import json
import statistics
import sys

LEVEL = 0.01
AUTO_BEHIND = 0.05

# The columns of peers: title, and who competes for a place in it.
PEERS = (
    ("NCCL", lambda column: column == "nccl"),
    ("PyTorch NCCL", lambda column: column in ("torch nccl", "torch gloo")),
    ("PyTorch symmetric memory", lambda column: column.startswith("torch ") and column not in ("torch nccl", "torch gloo", "torch norm")),
    ("allreduce, then norm", lambda column: column == "apart"),
)


def main(path):
    with open(path) as file:
        baseline = json.load(file)
    put_together(baseline["rows"])
    sections = {}
    for row in baseline["rows"]:
        if best(row, own):
            sections.setdefault((row["collective"], row.get("hidden"), row["dtype"], row["mode"]), []).append(row)
    print(facts(baseline) + "\n")
    print(summary([row for rows in sections.values() for row in rows]) + "\n")
    for key, rows in sections.items():
        section(baseline, key, sorted(rows, key=lambda row: row["bytes"]))
    gaps(baseline)


def put_together(rows):
    """Gives normalized rows what the allreduce and PyTorch's sum and norm alone take, one after the other."""
    plain = {(r["collective"], r["dtype"], r["mode"], r["bytes"]): r for r in rows if not r.get("hidden")}
    for row in rows:
        alone = row["us"].pop("torch norm", None)
        reduced = plain.get((row["collective"], row["dtype"], row["mode"], row["bytes"]))
        if row.get("hidden") and alone and reduced and best(reduced, own):
            row["us"]["apart"] = [statistics.median(alone) + best(reduced, own)[0]]


def own(column):
    return column.startswith("gpurun ") and column != "gpurun auto"


def ours(column):
    """An algorithm by name has a grid of its own, auto that of the tuning table."""
    return column.startswith("gpurun ")


def best(row, competes):
    """The least median time of those that compete, and its column; None if there is none."""
    times = [(statistics.median(us), column) for column, us in row["us"].items() if competes(column)]
    return min(times) if times else None


def peer(row):
    return best(row, lambda column: any(competes(column) for _, competes in PEERS))


def section(baseline, key, rows):
    collective, hidden, dtype, mode = key
    peers = [(title, competes) for title, competes in PEERS if any(best(row, competes) for row in rows)]
    ceiling = baseline.get("link_ceiling_gbps") if collective != "barrier" and not hidden else None
    heads = ["rows" if hidden else "size", "gpurun", "us", "auto"] + ["of link"] * bool(ceiling) + [title for title, _ in peers] + ["ahead"]
    what = f"{collective}, residual and RMSNorm of {hidden} elements" if hidden else collective
    print(f"### {what}{', ' + dtype if dtype != 'none' else ''}, {mode}\n")
    print("| " + " | ".join(heads) + " |\n|" + "---|" * len(heads))
    for row in rows:
        us, column = best(row, own)
        cells = [str(row["bytes"] // hidden // {"float": 4}.get(dtype, 2)) if hidden else size(row["bytes"])]
        cells += [column.removeprefix("gpurun "), timed(row, column), auto(row)]
        if ceiling:
            cells.append(f"{bus_bandwidth(row, us, baseline['world_size']) / ceiling:.0%}")
        cells += [peer_cell(row, competes) for _, competes in peers] + [ahead(row)]
        print("| " + " | ".join(cells) + " |")
    print()


def timed(row, column):
    us = row["us"][column]
    middle = statistics.median(us)
    spread = (max(us) - min(us)) / 2 / middle
    return decimals(middle) + (f" ±{spread:.0%}" if len(us) > 1 else "")


def decimals(us):
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:.0f}"


def auto(row):
    us = row["us"].get("gpurun auto")
    if not us:
        return ""
    behind = statistics.median(us) / best(row, own)[0] - 1
    text = decimals(statistics.median(us))
    return f"**{text}, {row.get('auto', '')}**" if behind > AUTO_BEHIND else text


def peer_cell(row, competes):
    found = best(row, competes)
    if not found:
        return ""
    name = found[1].removeprefix("torch ")
    return timed(row, found[1]) + (f" {name}" if name not in ("nccl", "gloo", "apart") else "")


def ahead(row):
    found = peer(row)
    if not found:
        return ""
    ratio = found[0] / best(row, ours)[0]
    if abs(ratio - 1) <= LEVEL:
        return "level"
    return f"{ratio:.2f}x" if ratio > 1 else f"**{ratio:.2f}x**"


def bus_bandwidth(row, us, ranks):
    """GB/s, as nccl-tests defines it."""
    parts = {"allreduce": 2 * (ranks - 1) / ranks, "broadcast": 1, "reduce": 1}
    return row["bytes"] * parts.get(row["collective"], (ranks - 1) / ranks) / us / 1e3


def size(nbytes):
    for suffix, unit in (("G", 1 << 30), ("M", 1 << 20), ("K", 1 << 10)):
        if nbytes and nbytes % unit == 0:
            return f"{nbytes // unit}{suffix}"
    return str(nbytes)


def facts(baseline):
    nccl = [baseline["nccl"]] if "nccl" in baseline else []
    torch = [f"PyTorch {baseline['pytorch']} with NCCL {baseline['pytorch_nccl']}"] if "pytorch" in baseline else []
    turns = max((len(us) for row in baseline["rows"] for us in row["us"].values()), default=0)
    text = ", ".join([baseline["machine"], f"{baseline['world_size']} ranks", f"gpurun {baseline['gpurun']}"] + nccl + torch + [baseline["date"]])
    text += f"; medians of {turns} turns, us."
    if "link_ceiling_gbps" in baseline:
        text += f" By copy engines {baseline['link_ceiling_gbps']:.0f} GB/s leave each GPU while all send."
    return text


def summary(rows):
    verdicts = [(ahead(row), row) for row in rows]
    behind = [row for verdict, row in verdicts if verdict.startswith("**")]
    level = sum(verdict == "level" for verdict, _ in verdicts)
    compared = sum(verdict != "" for verdict, _ in verdicts)
    text = f"gpurun is ahead in {compared - level - len(behind)} of {compared} rows, level in {level}, behind in {len(behind)}"
    text += "".join(f"\n- behind: {described(row)}, {ahead(row).strip('*')} ({peer(row)[1]})" for row in behind)
    slow = [row for row in rows if auto(row).startswith("**")]
    return text + "".join(f"\n- auto is more than {AUTO_BEHIND:.0%} behind: {described(row)}" for row in slow)


def described(row):
    hidden = f" with rmsnorm of {row['hidden']}" if row.get("hidden") else ""
    return f"{row['collective']}{hidden} {row['dtype']} {row['mode']} {size(row['bytes'])}"


def gaps(baseline):
    for text in baseline["wrong"]:
        print(f"- **wrong**: {text}")
    cases = {}
    for x in baseline["unavailable"]:
        rmsnorm = f" with rmsnorm of {x['hidden']}" if "hidden" in x else ""
        what = f"{x['column']} for {x['collective']}{rmsnorm} of {x['dtype']}: {x['why']}"
        cases.setdefault(what, []).append(f"{x['mode']} {', '.join(map(size, x['bytes']))}")
    for what, where in cases.items():
        print(f"- not available: {what} ({'; '.join(where)})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(sys.argv[1])

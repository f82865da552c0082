"""The outputs in the documents: a stale one is found, what varies is replaced, and the author's form stays."""

import re
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "docs"))
import outputs

import test_docs

TABLE = "Link up\n\n Scheme    Delay\n ───────────────\n DropTail  434.4\n CoDel       8.7\n\nFlows\n\n CoDel  4.17\n"
WIDER = TABLE.replace("  434.4", "  1434.4").replace("───────────────", "────────────────")


def page(*lines: str, kind: str = "", below: str = "") -> str:
    """A page with a block of these lines."""
    mark = f"<!-- output: {kind} -->\n" if kind else ""
    after = f"\n\n```text\n{below}```" if below else ""
    return f"# Title\n\n{mark}```console\n{''.join(lines)}```{after}\n\nText.\n"


def written(text: str, printed: str) -> str:
    """The page after its commands have all printed this."""
    return outputs.rewritten(text, {each.code: printed for each in outputs.examples(text)})


def test_every_command_of_a_block_has_the_lines_below_it() -> None:
    found = list(
        outputs.examples(page("$ aqmlab a\n", "1\n", "\n", "2\n", "$ aqmlab b   # exit code 2\n", kind="like"))
    )
    assert [(each.code, each.shown, each.kind) for each in found] == [
        ("aqmlab a", "1\n\n2\n", "like"),
        ("aqmlab b   # exit code 2", "", "like"),
    ]


def test_a_block_of_text_after_commands_or_a_program_is_the_output_of_the_last() -> None:
    [first, last] = outputs.examples(page("$ aqmlab a\n", "$ aqmlab b\n", below="2\n"))
    assert (first.shown, last.shown) == ("", "2\n")
    [program] = outputs.examples("```python\nprint(1)\n```\n\n```text\n1\n```\n")
    assert (program.code, program.shown) == ("print(1)\n", "1\n")
    [apart] = outputs.examples("```python\nprint(1)\n```\n\nWords.\n\n```text\n1\n```\n")
    assert apart.shown == ""


@pytest.mark.parametrize("shown", [TABLE, "Link up\n...\n", "...\n CoDel  4.17\n", "...\n CoDel       8.7\n...\n"])
def test_a_current_output_stays_and_a_stale_one_is_written(shown: str) -> None:
    text = page("$ aqmlab a\n", shown)
    assert written(text, TABLE) == text
    newer = TABLE.replace("Link up", "Link down").replace("8.7", "9.8").replace("4.17", "4.16")
    stale = written(text, newer)
    assert stale == page("$ aqmlab a\n", shown.replace("up", "down").replace("8.7", "9.8").replace("4.17", "4.16"))


def test_a_part_of_an_output_is_found_again_among_other_numbers_and_widths() -> None:
    shown = "...\n Scheme    Delay\n ───────────────\n DropTail  434.4\n...\n"
    wider = "...\n Scheme    Delay\n ────────────────\n DropTail  1434.4\n...\n"
    assert written(page("$ aqmlab a\n", shown), "A line\n" + WIDER) == page("$ aqmlab a\n", wider)


def test_a_missing_output_is_written_whole_or_to_the_end_of_a_table() -> None:
    assert written(page("$ aqmlab a\n"), "1\n") == page("$ aqmlab a\n", "1\n")
    long = [f"{i}\n" for i in range(outputs.LONGEST + 1)]
    shown = page("$ aqmlab a\n", *long[: outputs.LONGEST - 1], "...\n")
    assert written(page("$ aqmlab a\n"), "".join(long)) == shown
    assert written(shown, "".join(long)) == shown
    long[outputs.SHORTEST] = long[outputs.SHORTEST + 2] = "\n"  # with a line between them: a heading
    assert written(page("$ aqmlab a\n"), "".join(long)) == page("$ aqmlab a\n", *long[: outputs.SHORTEST], "...\n")
    assert written(page("$ aqmlab a\n", "...\n", kind="like"), "1\n") == page("$ aqmlab a\n", "1\n", kind="like")
    assert written("```python\nprint(1)\n```\n", "1\n") == "```python\nprint(1)\n```\n\n```text\n1\n```\n"
    assert written("```python\nx = 1\n```\n", "") == "```python\nx = 1\n```\n"


def test_a_block_of_text_is_written_in_its_place() -> None:
    assert written(page("$ aqmlab a\n", below="old\n"), "new\n") == page("$ aqmlab a\n", below="new\n")


def test_a_mark_excuses_commands_without_output_and_no_others() -> None:
    for kind in outputs.KINDS:
        assert written(page("$ aqmlab a\n", kind=kind), "1\n") == page("$ aqmlab a\n", kind=kind)
    assert written(page("$ aqmlab a\n", "0\n", kind="like"), "1\n") == page("$ aqmlab a\n", "1\n", kind="like")
    assert written(page("$ aqmlab a\n", "0\n", kind="varies"), "1\n") == page("$ aqmlab a\n", "0\n", kind="varies")


def test_a_blank_line_is_between_an_output_and_the_next_command() -> None:
    text = page("$ aqmlab a\n", "1\n", "\n", "$ aqmlab b\n", "1\n")
    assert written(page("$ aqmlab a\n", "$ aqmlab b\n"), "1\n") == text
    assert written(text, "1\n") == text


def test_an_example_that_was_not_run_stays() -> None:
    text = page("$ aqmlab a\n", "0\n", "\n", "$ aqmlab b\n")
    assert outputs.rewritten(text, {}) == text


def test_what_varies_is_replaced_and_results_are_not(tmp_path: Path) -> None:
    printed = f"\n\n 434.4  1.00   \n\n\n1,347,256 events in 0.198 s\nStored by aqmlab 0.2.0, in {tmp_path}/a.csv\n\n"
    expected = " 434.4  1.00\n\n… events in … s\nStored by aqmlab …, in …/a.csv\n"
    assert outputs.normalised(printed, tmp_path) == expected


def test_a_stale_output_fails_and_is_recorded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    shown = [(outputs.PAGES[0], each) for each in outputs.examples(page("$ aqmlab a\n", "1.1\n"))]
    monkeypatch.setattr(test_docs, "SHOWN", shown)
    recorded: list[tuple[str, object]] = []
    record = lambda *each: recorded.append(each)  # noqa: E731
    test_docs.hold_to_pages([("aqmlab a", "1.1\n")], tmp_path, record)
    with pytest.raises(AssertionError, match=r"README\.md is stale: python docs/outputs\.py README\.md"):
        test_docs.hold_to_pages([("aqmlab a", "1.2\n")], tmp_path, record)
    assert recorded == [("printed", ("aqmlab a", "1.1\n")), ("printed", ("aqmlab a", "1.2\n"))]


def test_every_block_of_commands_begins_with_one() -> None:
    for path in outputs.PAGES:
        assert not re.search(r"^```console\n(?!\$ )", path.read_text(encoding="utf-8"), re.MULTILINE), path.name


def test_every_mark_is_of_a_kind_and_excuses_a_command() -> None:
    for path in outputs.PAGES:
        text = path.read_text(encoding="utf-8")
        marks = re.findall(r"<!-- output: (.*?) -->", text)
        blocks = [each for each in outputs.BLOCKS.finditer(text) if each["kind"]]
        assert [each["kind"] for each in blocks] == marks, f"{path.name}: a mark is not directly before a block"
        for block in blocks:
            assert block["kind"] in outputs.KINDS, f"{path.name}: {block['kind']}"
            excused = [each for each in outputs.in_block(block) if not each.shown or each.kind == "varies"]
            assert excused, f"{path.name}: no command needs this mark:\n{block[0]}"

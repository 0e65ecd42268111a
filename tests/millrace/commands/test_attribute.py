"""`millrace attribute`: valid and invalid path files."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from folds.persons.models import MODELS
from gold.rules.paths import PATH_MODELS
from lakehouse.errors import MillraceError
from millrace.cli import app, register_commands
from millrace.clients.path_csv import read_paths

GOOD = "path,conversions,value,nulls\na > b > c,1,10,0\na > c,2,20,1\nb,0,0,3\na>a > b,1,6,0\n"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "paths.csv"


def run(*arguments: str) -> str:
    if not app.registered_commands:
        register_commands()
    answer = CliRunner().invoke(app, ["attribute", *arguments])
    if answer.exception:
        raise answer.exception
    return answer.stdout


def test_json_output_has_credit_by_channel(file: Path) -> None:
    file.write_text(GOOD)
    reported = json.loads(run("--paths", str(file), "--model", "linear", "--json").splitlines()[-1])
    assert reported["model"] == "linear"
    assert [each["channel"] for each in reported["channels"]] == ["a", "b", "c"]
    assert [each["conversions"] for each in reported["channels"]] == pytest.approx([2, 2 / 3, 4 / 3])
    assert [each["value"] for each in reported["channels"]] == pytest.approx([52 / 3, 16 / 3, 40 / 3])


def test_all_models_are_shown_without_model_option(file: Path) -> None:
    file.write_text(GOOD)
    lines = run("--paths", str(file), "--json").splitlines()
    assert [json.loads(line)["model"] for line in lines if line.startswith("{")] == list(PATH_MODELS)
    assert set(PATH_MODELS) == {*MODELS, "markov", "shapley"}
    shown = run("--paths", str(file))
    assert "Of 4 conversions on 4 paths." in shown


def test_path_columns_may_be_reordered_and_optional_ones_missing(file: Path) -> None:
    file.write_text("\ufeffnote,conversions,path\nx,3,\n,1,Email > Direct\n", encoding="utf-8")
    first, second = read_paths(file)
    assert (first.channels, first.conversions, first.value, first.nulls) == (("Direct",), 3, 0, 0)
    assert second.channels == ("Email", "Direct")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no column path"),
        ("path,value\na,1\n", "has no column conversions"),
        ("path,conversions\na > > b,1\n", "line 2: a channel of the path 'a > > b' has no name"),
        ("path,conversions\na,1\nb,-1\n", "line 3: conversions is '-1', not a number that is not negative"),
        ("path,conversions,nulls\na,1,many\n", "line 2: nulls is 'many'"),
        ("path,conversions,value\na,1,inf\n", "line 2: value is 'inf', not a number"),
    ],
)
def test_invalid_path_file_is_rejected_with_its_line(file: Path, text: str, problem: str) -> None:
    file.write_text(text)
    with pytest.raises(MillraceError) as reported:
        read_paths(file)
    assert problem in reported.value.problem


def test_missing_or_binary_path_file_is_rejected(file: Path) -> None:
    with pytest.raises(MillraceError, match="can't be read: no such file"):
        read_paths(file)
    file.write_bytes(b"path,conversions\n\xff\xfe,1\n")
    with pytest.raises(MillraceError, match="is no CSV in UTF-8"):
        read_paths(file)


def test_unknown_model_is_rejected(file: Path) -> None:
    with pytest.raises(MillraceError, match=r"no model 'best'.*markov, shapley"):
        run("--paths", str(file), "--model", "best")

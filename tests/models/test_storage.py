"""Saved models: complete or not at all, damage is reported, and no pickle anywhere."""

import dataclasses
import hashlib
import json
import os
import random
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from conftest import COMPLETIONS, small_settings
from safetensors.numpy import load_file, save_file

import prudent
from prudent.errors import InputProblem
from prudent.models import folder
from prudent.models.folder import VERSION, read_files, require_model_folder, sealed
from prudent.models.storage import _arrays


@pytest.fixture
def saved(fitted_models, tmp_path) -> Path:
    fitted_models["conditional"].save(tmp_path / "model")
    return tmp_path / "model"


def arrays_file(folder: Path) -> Path:
    return next(folder.glob("arrays-*.safetensors"))


def described(folder: Path) -> dict:
    return json.loads((folder / "model.json").read_text())


def rewrite(folder: Path, **changes) -> None:
    """Another description with a right hash, as someone who knows the format would forge it."""
    seal(folder, described(folder) | changes)


def seal(folder: Path, description: dict) -> None:
    description.pop("sha256", None)
    (folder / "model.json").write_bytes(sealed(description))


def with_arrays(folder: Path, arrays: dict) -> None:
    """Other arrays under a right name and hash, as someone who knows the format would forge them."""
    arrays_file(folder).unlink()
    save_file(arrays, folder / "new")
    data = (folder / "new").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    (folder / "new").rename(folder / f"arrays-{digest[:16]}.safetensors")
    rewrite(folder, arrays={"file": f"arrays-{digest[:16]}.safetensors", "sha256": digest})


def same_arrays(one, other) -> bool:
    left, right = _arrays(one.model), _arrays(other.model)
    return left.keys() == right.keys() and all(np.array_equal(left[name], right[name]) for name in left)


def test_round_trip_in_this_process(fitted, cases, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = prudent.load(tmp_path / "model")
    assert loaded.settings == fitted.settings
    assert loaded.schema == fitted.schema
    assert loaded.action_labels == fitted.action_labels
    assert loaded.report == fitted.report
    assert loaded.minimize == fitted.minimize
    assert same_arrays(fitted, loaded)
    one, other = (f.policy(completions=COMPLETIONS).recommend(cases).columns() for f in (fitted, loaded))
    assert one == other


def test_saving_again_replaces_and_leaves_nothing_behind(fitted_models, saved):
    fitted_models["causal"].save(saved)
    assert sorted(path.name for path in saved.iterdir()) == sorted(["model.json", arrays_file(saved).name])
    assert same_arrays(prudent.load(saved), fitted_models["causal"])


@pytest.mark.parametrize("stage", [0, 1])
def test_a_crash_in_the_middle_leaves_the_old_model(fitted_models, saved, monkeypatch, stage):
    calls, replace = [], os.replace

    def crash(source, target):
        calls.append(target)
        if len(calls) > stage:
            raise OSError("no space left on device")
        replace(source, target)

    monkeypatch.setattr("prudent.writing.os.replace", crash)
    with pytest.raises(OSError, match="no space"):
        fitted_models["causal"].save(saved)
    monkeypatch.undo()
    assert same_arrays(prudent.load(saved), fitted_models["conditional"])
    fitted_models["causal"].save(saved)
    assert same_arrays(prudent.load(saved), fitted_models["causal"])
    assert len(list(saved.iterdir())) == 2, "what a crash left behind goes with the next save"


@pytest.mark.parametrize("renamed", [0, 1])
def test_a_process_killed_in_its_first_save_leaves_a_folder_to_save_in(fitted_models, tmp_path, monkeypatch, renamed):
    def killed(*_):
        raise SystemExit  # and nothing is tidied up

    monkeypatch.setattr("prudent.writing.Path.unlink", lambda *_, **__: None)
    with monkeypatch.context() as patch:
        (patch.setattr("prudent.models.folder.sealed", killed) if renamed else None)
        (None if renamed else patch.setattr("prudent.writing.os.replace", killed))
        with pytest.raises(SystemExit):
            fitted_models["conditional"].save(tmp_path / "model")
    monkeypatch.undo()
    assert len(list((tmp_path / "model").iterdir())) == 1
    with pytest.raises(InputProblem, match="not a saved model"):
        prudent.load(tmp_path / "model")
    require_model_folder(tmp_path / "model")
    fitted_models["conditional"].save(tmp_path / "model")
    assert len(list((tmp_path / "model").iterdir())) == 2


def test_a_users_own_files_are_never_taken_for_leftovers(fitted_models, saved):
    theirs = [saved / name for name in ("notes.part", "arrays-mine.safetensors", ".hidden.part")]
    for path in theirs:
        path.write_text("keep me")
    fitted_models["conditional"].save(saved)
    assert [path.read_text() for path in theirs] == ["keep me"] * 3


def test_links_in_a_model_folder_are_not_written_through(fitted_models, saved, tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("keep me")
    for name in ("model.json", "model.json.part"):
        (saved / name).unlink(missing_ok=True)
        (saved / name).symlink_to(precious)
    fitted_models["conditional"].save(saved)
    assert precious.read_text() == "keep me"
    assert not (saved / "model.json").is_symlink()


def test_a_private_model_stays_private(fitted_models, saved):
    (saved / "model.json").chmod(0o600)
    fitted_models["causal"].save(saved)
    assert (saved / "model.json").stat().st_mode & 0o777 == 0o600


def test_a_reader_begins_again_where_the_model_is_replaced_under_its_hands(fitted_models, saved, monkeypatch):
    read, replaced = folder._arrays, []

    def replace_first(*arguments):
        if not replaced:
            replaced.append(fitted_models["causal"].save(saved))
        return read(*arguments)

    monkeypatch.setattr(folder, "_arrays", replace_first)
    assert same_arrays(prudent.load(saved), fitted_models["causal"])


def test_writers_wait_for_one_another_and_readers_never_see_a_mixture(fitted_models, saved):
    models = [fitted_models["causal"], fitted_models["conditional"]]
    known = {type(model.settings).__name__ for model in models}
    with ThreadPoolExecutor(4) as pool:
        writing = [pool.submit(lambda model: [model.save(saved) for _ in range(5)], model) for model in models]
        reading = [pool.submit(lambda: [read_files(saved) for _ in range(40)]) for _ in range(2)]
        [job.result() for job in (*writing, *reading)]
    assert type(prudent.load(saved).settings).__name__ in known
    assert len(list(saved.iterdir())) == 2


def test_no_flipped_bit_goes_unnoticed(saved):
    whole = (saved / "model.json").read_bytes()
    chance = random.Random(0)
    for _ in range(300):
        place, bit = chance.randrange(len(whole)), chance.randrange(8)
        flipped = bytearray(whole)
        flipped[place] ^= 1 << bit
        (saved / "model.json").write_bytes(flipped)
        with pytest.raises(InputProblem):
            prudent.load(saved)


def test_missing_folder_and_file(saved, tmp_path):
    with pytest.raises(InputProblem, match=r"no model\.json"):
        prudent.load(tmp_path / "nowhere")
    arrays_file(saved).unlink()
    with pytest.raises(InputProblem, match="arrays file is missing"):
        prudent.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", '{"format": "other"}', "\x00\xff"])
def test_text_that_is_not_a_description(saved, text):
    (saved / "model.json").write_text(text, encoding="latin-1")
    with pytest.raises(InputProblem, match=r"damaged|not written by prudent"):
        prudent.load(saved)


@pytest.mark.parametrize("version", [0, 9, VERSION - 1, VERSION + 1, str(VERSION), None, True])
def test_another_version(saved, version):
    rewrite(saved, version=version)
    with pytest.raises(InputProblem, match="version"):
        prudent.load(saved)


@pytest.mark.parametrize(
    "changes",
    [
        {"model": "forest"},
        {"model": ["causal"]},
        {"settings": None},
        {"settings": {}},
        {"settings": {"members": 1}},
        {"schema": {}},
        {"schema": None},
        {"action_labels": None},
        {"action_labels": 3},
        {"action_labels": [["nested"], {}, None]},
        {"action_labels": []},
        {"action_labels": ["low", "low", "high"]},
        {"action_labels": [1, "1", 2]},
        {"action_labels": ["low", float("nan"), "high"]},
        {"action_labels": ["low", 10**400, "high"]},
        {"minimize": "false"},
        {"minimize": 0},
        {"minimize": None},
        {"report": {"rows": "many", "rewarded": 1, "rounds": 1, "held_out_bound": [], "notes": [], "choices": []}},
        {"roles": {"action": "dose", "reward": 3}},
        {"report": None},
        {"report": {"rows": 1}},
        {"arrays": None},
        {"arrays": {}},
        {"arrays": "arrays.safetensors"},
    ],
    ids=repr,
)
def test_a_garbled_description(saved, changes):
    rewrite(saved, **changes)
    with pytest.raises(InputProblem):
        prudent.load(saved)


@pytest.mark.parametrize("field", ["model", "settings", "schema", "action_labels", "minimize", "report", "arrays"])
def test_a_description_that_lacks_a_part(saved, field):
    description = described(saved)
    del description[field]
    seal(saved, description)
    with pytest.raises(InputProblem, match=r"damaged"):
        prudent.load(saved)


@pytest.mark.parametrize(
    ("field", "value"), [("members", 0), ("members", 10**9), ("members", "two"), ("hide", 7), ("width", 1)]
)
def test_garbled_settings(saved, field, value):
    settings = described(saved)["settings"]
    rewrite(saved, settings=settings | {field: value})
    with pytest.raises(InputProblem):
        prudent.load(saved)


def test_truncated_and_flipped_arrays(saved):
    file = arrays_file(saved)
    data = file.read_bytes()
    for damaged in (data[:-10], data[:100], b"", data[:-1] + bytes([data[-1] ^ 1])):
        file.write_bytes(damaged)
        with pytest.raises(InputProblem, match="not what was saved"):
            prudent.load(saved)


def test_arrays_that_do_not_fit(saved):
    arrays = load_file(arrays_file(saved))
    name = next(name for name, array in arrays.items() if array.ndim == 3)
    wrong = {
        "shape": arrays | {name: arrays[name][:, :, :-1].copy()},
        "rank": arrays | {name: arrays[name][0].copy()},
        "type": arrays | {name: arrays[name].astype(np.float64)},
        "absent": {other: array for other, array in arrays.items() if other != name},
        "not a number": arrays | {name: np.full_like(arrays[name], np.nan)},
        "infinite": arrays | {name: np.full_like(arrays[name], np.inf)},
    }
    for forged in wrong.values():
        with_arrays(saved, forged)
        with pytest.raises(InputProblem, match=re.escape(f"array {name} ")):
            prudent.load(saved)
    with_arrays(saved, arrays | {"of another model": np.zeros(3, np.float32)})
    with pytest.raises(InputProblem, match="of another model"):
        prudent.load(saved)


def test_arrays_file_that_is_not_safetensors(saved):
    data = b"\x80\x04\x95 this would be a pickle"
    digest = hashlib.sha256(data).hexdigest()
    file = f"arrays-{digest[:16]}.safetensors"
    (saved / file).write_bytes(data)
    rewrite(saved, arrays={"file": file, "sha256": digest})
    with pytest.raises(InputProblem, match="damaged"):
        prudent.load(saved)


@pytest.mark.parametrize("name", ["../secret.safetensors", "/etc/hostname", "..", ".", "", "a/../b", "a" * 400])
def test_arrays_file_outside_the_folder(saved, name):
    data = arrays_file(saved).read_bytes()
    (saved.parent / "secret.safetensors").write_bytes(data)
    rewrite(saved, arrays={"file": name, "sha256": hashlib.sha256(data).hexdigest()})
    with pytest.raises(InputProblem, match="arrays file is missing"):
        prudent.load(saved)


def test_a_link_out_of_the_folder_is_read_as_a_file_only_if_its_content_is_right(saved, tmp_path):
    file = arrays_file(saved)
    (tmp_path / "other").write_bytes(b"another file of the user")
    file.unlink()
    file.symlink_to(tmp_path / "other")
    with pytest.raises(InputProblem, match="not what was saved"):
        prudent.load(saved)


def test_folders_with_other_things_are_not_touched(fitted_models, tmp_path):
    (tmp_path / "notes.txt").write_text("keep me")
    with pytest.raises(InputProblem, match="holds other things"):
        fitted_models["causal"].save(tmp_path)
    with pytest.raises(InputProblem, match="is a file"):
        fitted_models["causal"].save(tmp_path / "notes.txt")
    assert (tmp_path / "notes.txt").read_text() == "keep me"
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_an_unknown_model_cannot_be_saved(fitted_models, tmp_path):
    strange = dataclasses.replace(fitted_models["causal"], settings=object())
    with pytest.raises(InputProblem, match="object"):
        strange.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("labels", [("a", "b"), (1, 2), (0.5, 1.5), (False, True)])
def test_labels_of_every_type_come_back_as_they_were(fitted_models, tmp_path, labels):
    fitted = dataclasses.replace(fitted_models["conditional"], action_labels=(*labels, "c"))
    fitted.save(tmp_path / "model")
    loaded = prudent.load(tmp_path / "model").action_labels
    assert loaded == (*labels, "c")
    assert [type(label) for label in loaded] == [type(label) for label in (*labels, "c")]


def test_every_setting_comes_back(fitted_models, tmp_path):
    settings = small_settings("similarity", propensity=prudent.Boosted(folds=3), form="matching", logged_rows=50)
    dataclasses.replace(fitted_models["similarity"], settings=settings).save(tmp_path / "model")
    assert prudent.load(tmp_path / "model").settings == settings


def test_no_pickle_in_the_source():
    for path in Path(prudent.__file__).parent.rglob("*.py"):
        if path.parent.name == "checks":
            continue  # the law that forbids unpickling must name it
        source = path.read_text()
        imports = r"^\s*(?:import|from)\s+(?:pickle|cloudpickle|dill|joblib|marshal|shelve)\b"
        assert not re.search(rf"(?m){imports}|allow_pickle=True|\b(?:eval|exec)\(", source), path

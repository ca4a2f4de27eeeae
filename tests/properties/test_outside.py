"""A schema reaches nothing outside of itself (invariant 11)."""

from __future__ import annotations

import json
import subprocess
import sys

_OUTSIDE = r"""
import json, os, socket, sys, tempfile, warnings
import callgate, jsonschema_rs
from callgate.engine.schema import Schema

server = socket.create_server(("127.0.0.1", 0))
server.setblocking(False)
port = server.getsockname()[1]
folder = tempfile.mkdtemp()
pipe = os.path.join(folder, "pipe.json")
os.mkfifo(pipe)  # whoever opens it to read waits for ever
beside = os.path.join(folder, "true.json")
with open(beside, "w") as out:
    out.write("true")
os.chdir(folder)
callgate.compile("").check("t", {})  # everything is loaded
touched = []
def hook(event, arguments):
    files = ("open", "os.listdir", "os.scandir", "subprocess.Popen", "import")
    if event in files or event.startswith("socket."):
        touched.append((event, str(arguments)[:200]))
sys.addaudithook(hook)
DRAFT_7, BASE = "http://json-schema.org/draft-07/schema#", f"http://127.0.0.1:{port}/base/"
targets = [
    f"http://127.0.0.1:{port}/a.json", f"https://127.0.0.1:{port}/a.json",
    f"http://127.0.0.1:{port}/a.json#/x", "http://example.invalid/schema", "file://" + pipe,
    "file://" + beside, "file:///etc/hostname", beside, "true.json", "./true.json",
    "//127.0.0.1:%d/a" % port, "urn:example:x", "ftp://127.0.0.1/a", "data:application/json,true",
]
shapes = [
    lambda ref: {"$ref": ref},
    lambda ref: {"properties": {"a": {"$ref": ref}}},
    lambda ref: {"$defs": {"x": {"$ref": ref}}, "properties": {"a": {"$ref": "#/$defs/x"}}},
    lambda ref: {"anyOf": [{"type": "string"}, {"$ref": ref}]},
    lambda ref: {"items": {"$dynamicRef": ref}},
    lambda ref: {"$schema": DRAFT_7, "definitions": {"x": {"$ref": ref}}, "$ref": "#/definitions/x"},
    lambda ref: {"$id": BASE, "properties": {"a": {"$ref": "other.json"}, "b": {"$ref": ref}}},
    lambda ref: {"if": {"$ref": ref}},
]
wrong = []
for ref in targets:
    for number, shape in enumerate(shapes):
        for where in ("tools", "call"):
            try:
                if where == "tools":
                    callgate.compile("").with_tools({"t": shape(ref)}).check("t", {"a": 1, "b": 2})
                else:
                    callgate.compile("").check("t", {"a": 1}, schema=shape(ref))
            except callgate.SchemaError as error:
                tail = ref.split("#")[0].lstrip("./").split("/")[-1]
                if tail not in str(error) and "other.json" not in str(error):
                    wrong.append(("not named", ref, number, str(error)))
            else:
                wrong.append(("taken", ref, number))
for ref in (f"http://127.0.0.1:{port}/meta", "file://" + beside):
    try:
        callgate.compile("").check("t", {"a": 1}, schema={"$schema": ref, "type": "object"})
    except callgate.CallgateError:
        pass
# What is inside, and the drafts' own metaschemas, resolve.
for ref in ("#", "#/$defs/x", "https://json-schema.org/draft/2020-12/schema", "#x"):
    schema = {"properties": {"a": {"$ref": ref}}, "$defs": {"x": {"$anchor": "x", "type": "object"}}}
    assert callgate.compile("").check("t", {"a": {}}, schema=schema).outcome == "valid", ref
try:
    server.accept()
    wrong.append("somebody connected")
except BlockingIOError:
    pass
print(json.dumps({"wrong": wrong, "touched": touched}))
"""


def test_a_reference_to_the_outside_is_a_schema_error_that_names_it_and_nothing_is_touched() -> None:
    # Kills: no retriever, so that the validator's own fetches by HTTP and reads files.
    command = [sys.executable, "-c", _OUTSIDE]
    done = subprocess.run(command, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = json.loads(done.stdout)
    assert found == {"wrong": [], "touched": []}

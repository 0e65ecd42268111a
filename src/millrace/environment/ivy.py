"""Downloads jars with Ivy, which is part of PySpark."""

import importlib.util
import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from xml.etree import ElementTree as ET

from lakehouse.errors import MillraceError
from millrace.environment.jar_lock import LockedJar
from millrace.environment.java import java_executable

RESOLVE_FILE = Path(__file__).with_name("ivy.xml")

# Jars with known coordinates need no POM requests, and the lock has better checksums than the repository.
# So each jar needs two requests instead of six or more.
_PLAIN_SETTINGS = """\
<ivysettings>
  <settings defaultResolver="central"/>
  <property name="ivy.checksums" value=""/>
  <resolvers>
    <ibiblio name="central" m2compatible="true" usepoms="false" useMavenMetadata="false"/>
  </resolvers>
</ivysettings>
"""


def write_request(jars: Iterable[LockedJar], folder: Path) -> tuple[Path, Path]:
    """Write an Ivy file for exactly these jars, without their dependencies.

    Returns:
        The module file and the settings file. MILLRACE_IVY_SETTINGS may name another settings file, e.g. for
        a mirror.
    """
    root = ET.Element("ivy-module", version="2.0")
    ET.SubElement(root, "info", organisation="millrace", module="locked-jars")
    roles = ET.SubElement(root, "configurations")
    dependencies = ET.SubElement(root, "dependencies")
    wanted = list(jars)
    for role in sorted({jar.role for jar in wanted}):
        ET.SubElement(roles, "conf", name=role)
    for jar in wanted:
        coordinates = {"org": jar.organisation, "name": jar.name, "rev": jar.revision}
        ET.SubElement(dependencies, "dependency", coordinates, conf=f"{jar.role}->*", transitive="false")
    module = folder / "request.xml"
    ET.ElementTree(root).write(module, encoding="utf-8")
    settings = folder / "settings.xml"
    settings.write_text(_PLAIN_SETTINGS, encoding="utf-8")
    own = os.environ.get("MILLRACE_IVY_SETTINGS")
    return module, Path(own) if own else settings


def retrieve(module: Path, settings: Path | None, pattern: str, downloads: Path) -> Iterator[str]:
    """Run Ivy, yielding its output.

    Args:
        module: the module file.
        settings: the settings file; None for Ivy's default.
        pattern: Ivy's retrieve pattern, with the path of each jar.
        downloads: Ivy's cache folder; complete files of an earlier attempt are not downloaded again.

    Raises:
        MillraceError: if a jar could not be downloaded.
    """
    command = [str(java_executable()), "-jar", str(_ivy_jar()), "-cache", str(downloads), "-ivy", str(module)]
    command += ["-retrieve", pattern, "-types", "jar", "bundle"]
    command += ["-settings", str(settings)] if settings else []
    lines: list[str] = []
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    )
    try:
        assert process.stdout is not None  # for the type checker: set by the pipe above
        for line in process.stdout:
            lines.append(line)
            yield line.strip()
        code = process.wait()
    finally:
        process.kill()
        process.wait()
    (downloads.parent / "ivy.log").write_text("".join(lines), encoding="utf-8")
    if code != 0:
        raise MillraceError(
            f"Fetching jars failed: {_reason(lines)}",
            f"Check the network and run `make setup` again, which goes on where this stopped; the whole story"
            f" is in {downloads.parent / 'ivy.log'}",
        )


def _ivy_jar() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MillraceError("PySpark is not installed", "Run `make setup`")
    found = sorted((Path(spec.origin).parent / "jars").glob("ivy-*.jar"))
    if not found:
        raise MillraceError("PySpark is incomplete: its Ivy jar is missing", "Run `make clean setup`")
    return found[-1]


def _reason(lines: list[str]) -> str:
    """The first line of Ivy's output that names a failed download."""
    messages = (line.strip(" \t\n:") for line in lines)
    for line in messages:
        if line.endswith("not found") or "FAILED" in line or "UnknownHost" in line or "Host " in line:
            return line
    return lines[-1].strip() if lines else "Ivy said nothing"

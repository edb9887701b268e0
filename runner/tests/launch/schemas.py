"""Checks golden files against published schemas: schemas.py FOLDER."""

import pathlib
import sys

import jsonschema
import kubernetes_validate
import yaml
from sky.utils import schemas


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    checked = 0
    for path in sorted(folder.glob("launch__*.snap")):
        text = path.read_text().split("\n---\n", 1)[1]
        if text.startswith("#!"):
            continue
        document = yaml.safe_load(text)
        if document.get("kind") == "Job":
            # The package requires a name, which the API server generates from `generateName`.
            document["metadata"]["name"] = document["metadata"].pop("generateName") + "x"
            kubernetes_validate.validate(document, "1.37", strict=True)
        else:
            jsonschema.validate(document, schemas.get_task_schema())
            jsonschema.validate(document["resources"], schemas.get_resources_schema())
        checked += 1
        print(f"{path.name}: valid")
    if checked < 3:
        sys.exit(f"only {checked} files were found in {folder}")


if __name__ == "__main__":
    main()

"""Run the notebooks beside this file from top to bottom, and keep what they show, without a trace of the machine."""

from pathlib import Path

import nbclient
import nbformat

LANGUAGE = {"name": "python"}
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}

for path in sorted(Path(__file__).parent.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", record_timing=False).execute()
    notebook.metadata = {"kernelspec": KERNEL, "language_info": LANGUAGE}
    nbformat.write(notebook, path)
    print(path.name)

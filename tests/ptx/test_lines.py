"""The line table of PTX text, as text."""

from cornerturn.ptx import parse, rename_files, source_line

TEXT = """.version 8.5
.visible .entry turn() {
  .loc 1 7 1
  add.u32 %r1, %r1, 1;
\t.loc\t2 9 3, function_name $L__info_string0, inlined_at 1 7 1
  ret;
}
  .file 1 "/tmp/turn.cu"
\t.file\t2 "/usr/include/part.cuh", 17, 40
"""


def test_files_are_renamed_and_nothing_else_changes():
    renamed = rename_files(TEXT, lambda name: name.rpartition("/")[2])
    assert renamed == TEXT.replace("/tmp/", "").replace("/usr/include/", "")
    assert [each.location for each in parse(renamed, "turn").instructions] == ["turn.cu:7", "part.cuh:9"]


def test_a_line_of_the_text_leads_to_its_line_of_the_source():
    turn, part = ("/tmp/turn.cu", 7), ("/usr/include/part.cuh", 9)
    assert [source_line(TEXT, line) for line in (0, 1, 2, 3, 4, 5, 6)] == [None, None, None, turn, turn, part, part]

"""The ``cornerturn`` command: reads what is asked, calls the laboratory, shows what it found.

Exit status: 0 all well, 1 a kernel gave a wrong result, 2 bad usage, 130 interrupted.
An error is one line on stderr, and a compiler's log.
"""

import click

from cornerturn import __version__
from cornerturn.cli import (
    bench_commands,
    check_commands,
    explain_commands,
    kernel_commands,
    report_commands,
    tune_commands,
    use_commands,
)
from cornerturn.cli.shell import CommandLine
from cornerturn.toolchain import cache_folder


@click.group(cls=CommandLine, invoke_without_command=True, context_settings={"max_content_width": 100})
@click.version_option(__version__, message="cornerturn %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """The matrix transpose, to use and to understand.

    Exit status: 0 all well, 1 a kernel gave a wrong result, 2 bad usage.
    """
    cache_folder()  # refuses a CORNERTURN_CACHE of no use before any work
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (
    bench_commands.list_kernels,
    bench_commands.bench,
    bench_commands.info,
    check_commands.check,
    check_commands.lessons,
    explain_commands.explain,
    explain_commands.trace,
    kernel_commands.build,
    kernel_commands.layout,
    report_commands.report,
    tune_commands.tune,
    use_commands.compare,
    use_commands.transpose,
):
    main.add_command(_command)

"""All that prints or draws: what the laboratory found, as text for a terminal and as SVG or a plot for a file."""

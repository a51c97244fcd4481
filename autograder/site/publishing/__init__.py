"""Publishing: addresses, files for machines, the site's folder."""

"""What pages need for readers who do not see them, where the theme and the pictures leave it out."""
import html, re

MOST = 12       # words of a picture that its description quotes


def described_picture(svg):
    "A drawing with a description: the words that stand in it."
    words = dict.fromkeys(html.unescape(t).strip() for t in re.findall(r'<text[^>]*>([^<]*)</text>', svg))
    said = ', '.join([w for w in words if w][:MOST]) or 'a drawing'
    more = f' and {len(words) - MOST} more' if len(words) > MOST else ''
    return re.sub(r'<svg\b', f'<svg aria-label="{html.escape(f"Picture of {said}{more}")}"', svg, count=1)


def accessible(page):
    "The HTML of a page with names for what has none, and landmarks around all of it."
    drawn = r'<svg\b(?![^>]*aria-label)[^>]*role="img".*?</svg>'
    page = re.sub(drawn, lambda m: described_picture(m[0]), page, flags=re.S)
    page = re.sub(r'(<a class="[^"]*\breference\b[^>]*>([^<]+)</a><details[^>]*>)<summary>',
                  lambda m: f'{m[1]}<summary aria-label="Pages of {m[2].strip()}">', page)
    page = re.sub(r'<th class="head">(?:<p>\s*</p>)?</th>', '<td></td>', page)       # a table without a head
    sidebar = 'id="pst-primary-sidebar"'
    page = page.replace(f'<div {sidebar}', f'<div role="complementary" aria-label="Site" {sidebar}')
    return re.sub(r'<dt class="sig.*?</dt>', _signature, page, flags=re.S)


def _signature(m):
    "Parameters that stand on a line each: Sphinx makes them definitions without terms."
    opened = m[0].replace('<dl>', '<span class="sig-lines">').replace('<dd>', '<span class="sig-line">')
    return opened.replace('</dl>', '</span>').replace('</dd>', '</span>')

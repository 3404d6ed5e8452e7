type Rgb = [number, number, number];

/** Paints the client's colour where it can be read: text on it is black or white, whichever contrasts more. */
export function paintBrand(root: HTMLElement, colour: string): void {
  const brand = parse(colour);
  if (!brand) return;
  // Of any colour, one of the two is at least 4.58 to 1.
  const ink = contrast(brand, [255, 255, 255]) >= contrast(brand, [0, 0, 0]) ? '#ffffff' : '#000000';
  root.style.setProperty('--brand', colour);
  root.style.setProperty('--on-brand', ink);
}

function parse(colour: string): Rgb | undefined {
  const [, red = '', green = '', blue = ''] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(colour) ?? [];
  return red ? [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)] : undefined;
}

/** As WCAG defines it. */
function contrast(one: Rgb, other: Rgb): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(colour: Rgb): number {
  const [red = 0, green = 0, blue = 0] = colour.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

type Rgb = [number, number, number];

/** Applies the client's color. Text on it is black or white, whichever has more contrast. */
export function paintBrand(root: HTMLElement, color: string): void {
  const brand = parse(color);
  if (!brand) return;
  // For any color, one of the two has a contrast of at least 4.58:1.
  const text = contrast(brand, [255, 255, 255]) >= contrast(brand, [0, 0, 0]) ? '#ffffff' : '#000000';
  root.style.setProperty('--brand', color);
  root.style.setProperty('--on-brand', text);
}

function parse(color: string): Rgb | undefined {
  const [, red = '', green = '', blue = ''] = /^#([0-9a-f]{2})([0-9a-f]{2})([0-9a-f]{2})$/i.exec(color) ?? [];
  return red ? [Number.parseInt(red, 16), Number.parseInt(green, 16), Number.parseInt(blue, 16)] : undefined;
}

/** The contrast ratio as defined by WCAG. */
function contrast(one: Rgb, other: Rgb): number {
  const [light = 0, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(color: Rgb): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

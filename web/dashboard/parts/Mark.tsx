/** The mark that all pages share, also as their icon. Decorative: the name is next to it. */
export function Mark({ size = 26 }: { size?: number }) {
  return <img src="/dashboard/files/brand/icon.svg" alt="" width={size} height={size} className="icon" />;
}

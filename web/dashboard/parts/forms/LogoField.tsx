import { Button, FileInput, Group, Image } from '@mantine/core';

type Props = {
  /** A `data:` URL. */
  value: string | null;
  onChange: (logo: string | null) => void;
  error?: string | undefined;
  read_only?: boolean;
};

/** Shows a logo, and lets people replace or remove it. */
export function LogoField({ value, onChange, error, read_only = false }: Props) {
  return (
    <Group align="flex-end">
      {value && <Image src={value} alt="Current logo" h={48} w="auto" maw={160} fit="contain" />}
      {!read_only && (
        <FileInput
          label="Logo"
          description="PNG, JPEG or SVG, up to 64 KB"
          accept="image/png,image/jpeg,image/svg+xml"
          placeholder="Choose a file"
          onChange={(file) => file && void readLogo(file).then(onChange)}
          error={error}
        />
      )}
      {value && !read_only && (
        <Button variant="default" onClick={() => onChange(null)}>
          Remove logo
        </Button>
      )}
    </Group>
  );
}

function readLogo(file: File): Promise<string> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve(String(reader.result));
    reader.onerror = () => reject(reader.error);
    reader.readAsDataURL(file);
  });
}

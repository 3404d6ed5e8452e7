import { Box, Text } from '@mantine/core';
import { useEffect, useRef } from 'react';
import { paintBrand } from '../../../link/color.ts';

type Props = { name: string; color: string; logo: string | null };

/** How a practice sees Link with this name, color and logo. A picture: nothing in it can be used. */
export function LinkPreview({ name, color, logo }: Props) {
  const card = useRef<HTMLDivElement>(null);
  useEffect(() => {
    for (const property of ['--brand', '--on-brand']) card.current?.style.removeProperty(property);
    if (card.current) paintBrand(card.current, color);
  }, [color]);
  return (
    <Box component="figure" m={0}>
      <Text component="figcaption" size="sm" fw={500} mb="xs">
        Preview
      </Text>
      <div ref={card} className="link-preview" aria-hidden="true">
        {logo && <img src={logo} alt="" />}
        <strong>Connect your EMR</strong>
        <span>{name.trim() || 'Your application'} uses this connection to read and write records.</span>
        <div className="link-preview-field">Username</div>
        <div className="link-preview-field">Password</div>
        <div className="link-preview-button">Continue</div>
      </div>
    </Box>
  );
}

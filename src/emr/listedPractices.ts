/** A practice as a vendor's list names it, before anything is checked. */
export type ListedPractice = {
  /** Identifies the practice in its list, also when the list is read again. */
  key: string;
  name: string;
  aliases: string[];
  city: string | null;
  state: string | null;
  postal_code: string | null;
  npi: string | null;
  /** The name of the organization that it belongs to. */
  parent: string | null;
  /** Null if the list has none for it. */
  address: string | null;
  /** The version of the standard at this address, if the list says so. */
  version: string | null;
  /** What every search must contain where practices share an address. */
  search_params: Record<string, string> | null;
};

/** How a connector reads the lists that vendors publish for its EMRs. */
export type PracticeLists = {
  /** The practices of a bundle. Reads the entries twice, because a practice may come before what it refers to. */
  readBundle: (entries: () => AsyncIterable<unknown>) => AsyncIterable<ListedPractice>;
  /** Whether the connector speaks the version at this address. */
  isSupported: (address: string, version: string | null) => boolean;
};

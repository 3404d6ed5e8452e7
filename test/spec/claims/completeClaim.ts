import type { TestSandbox } from '../../harness/sandbox.ts';
import { addClinicRow, type Row } from '../support/emrRecords.ts';

/** A claim in which no field is empty, so that each must be passed on. */
export const completeClaim = {
  appointmentId: '400001',
  serviceDate: '01/31/2031',
  claimDate: '02/01/2031',
  statusCode: 'PPD',
  statusDescription: 'Partly paid',
  claimType: 'Institutional',
  voidFlag: 'Y',
  patientId: '10001',
  mrn: 'LK100001',
  patientName: 'Wholely, Wanda',
  providerId: '502',
  providerName: 'Indigo Mockridge, MD',
  totalCharge: '1234.56',
  totalPayment: '1000.10',
  netPayment: '990.05',
  balance: '234.46',
  netAdjustment: '-10.05',
  patientResponsibility: '34.00',
  icdCodes: ['I10', 'E11.9'],
  billingNotes: 'Resubmitted by hand.',
  insurances: [
    {
      insuranceId: 'INS-1',
      name: 'Example Health',
      insuranceType: 'Commercial',
      claimIndicator: 'P',
      claimIndicatorDescription: 'Primary',
      sequenceNumber: '1',
      subscriberName: 'Wholely, Walter',
      subscriberNumber: 'SUB-77',
      subscriberBirthDate: '03/04/1950',
      subscriberRelation: '02',
      groupName: 'Example Employers',
      groupNumber: 'GRP-9',
      providerNumber: 'PROV-3',
      paymentSource: 'F',
      assignBenefits: 'Y',
      address1: '1 Payer Plaza',
      address2: 'Floor 2',
      city: 'Exampleton',
      state: 'NY',
      zip: '10001',
      medicaidId: 'MD-5',
    },
  ],
  balances: {
    invoiceAmount: '1234.56',
    totalPayment: '1000.10',
    netPayment: '990.05',
    balance: '234.46',
    patientBalance: '24.00',
    patientPayment: '10.00',
    patientResponsibility: '34.00',
    onPlan: 'Y',
  },
  voidClaim: { voidToClaimId: 'V1', voidFromClaimId: 'V2', copyToClaimId: 'C1', copyFromClaimId: 'C2' },
  submissionHistory: {
    createdBy: 'Finley Ledgerton',
    entries: [{ date: '02/01/2031', method: 'Electronic', payer: 'Example Health', result: 'Accepted' }],
    autoClaimData: { autoCreated: 'Y', batchNumber: 'B1' },
  },
  activityLog: [
    { date: '02/02/2031', action: 'Created', category: 'Claim', notes: 'By the batch.', userName: 'Gray Coinsby' },
  ],
  lineItems: [
    {
      lineItemId: 'LINE-1',
      lineNumber: 1,
      cptCode: '99213',
      description: 'Office visit',
      modifiers: ['25', '59'],
      units: 2,
      billedAmount: '600.50',
      allowedAmount: '420.25',
      billedUnitFee: '300.25',
      icdPointers: ['I10', 'E11.9'],
      placeOfService: '11',
      typeOfService: '1',
      serviceDateStart: '01/30/2031',
      serviceDateEnd: '01/31/2031',
      renderingNpi: '1999910001',
      orderingNpi: '1999910002',
      referringNpi: '1999910003',
    },
  ],
  payments: [
    {
      paymentId: 'PAY-1',
      checkNumber: 'CHK-1',
      paymentDate: '02/20/2031',
      amount: '990.10',
      paymentType: 'EFT',
      payerName: 'Example Health',
      payerType: 'Insurance',
      adjustment: '-10.05',
      deductible: '20.01',
      coinsurance: '13.99',
      allowed: '420.25',
      memberBalance: '34.02',
      withheld: '1.03',
      eraClaimStatus: 'Processed as primary',
      eraClaimStatusCode: '1',
      eraPayerName: 'Example Health',
      eraCheckAmount: '2970.30',
      eraAdjustmentCodes: { 'CO-45': '10.05', 'PR-1': '20.01' },
    },
  ],
};

/** Adds the complete claim in Larkspur, syncs, and returns it as the service lists it, with the other claims. */
export async function addCompleteClaim(
  fixture: TestSandbox,
): Promise<{ emr_claim_id: string; claim: Row; claims: Row[] }> {
  const { claimId } = await addClinicRow(fixture, 'claims', completeClaim);
  await fixture.api.sync();
  const { body } = await fixture.api.call('GET', '/v1/claims?page_size=1000');
  const claim = body.claims.find((each: Row) => each.emr_claim_id === claimId);
  if (!claim) throw new Error('The new claim is not listed.');
  return { emr_claim_id: claimId, claim, claims: body.claims };
}

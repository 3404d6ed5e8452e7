import { type Static, Type } from 'typebox';
import type { ClaimSource } from '../../model/records/claims.ts';
import { blankToNull, dollars, id, isoDate, money, moneyOrNull, text, textOrNull } from './values.ts';

export const Insurance = Type.Object({
  insuranceId: textOrNull,
  name: textOrNull,
  insuranceType: textOrNull,
  claimIndicator: textOrNull,
  claimIndicatorDescription: textOrNull,
  sequenceNumber: textOrNull,
  subscriberName: textOrNull,
  subscriberNumber: textOrNull,
  subscriberBirthDate: textOrNull,
  subscriberRelation: textOrNull,
  groupName: textOrNull,
  groupNumber: textOrNull,
  providerNumber: textOrNull,
  paymentSource: textOrNull,
  assignBenefits: textOrNull,
  address1: textOrNull,
  address2: textOrNull,
  city: textOrNull,
  state: textOrNull,
  zip: textOrNull,
  medicaidId: textOrNull,
});

export function toInsurance(row: Static<typeof Insurance>): ClaimSource['insurances'][number] {
  return {
    insurance_id: blankToNull(row.insuranceId),
    insurance_name: blankToNull(row.name),
    insurance_type: blankToNull(row.insuranceType),
    claim_indicator: blankToNull(row.claimIndicator),
    claim_indicator_description: blankToNull(row.claimIndicatorDescription),
    sequence_number: blankToNull(row.sequenceNumber),
    subscriber_name: blankToNull(row.subscriberName),
    subscriber_number: blankToNull(row.subscriberNumber),
    subscriber_dob: isoDate(row.subscriberBirthDate),
    subscriber_relation: blankToNull(row.subscriberRelation),
    group_name: blankToNull(row.groupName),
    group_number: blankToNull(row.groupNumber),
    provider_number: blankToNull(row.providerNumber),
    payment_source: blankToNull(row.paymentSource),
    assign_benefits: blankToNull(row.assignBenefits),
    insurance_address_1: blankToNull(row.address1),
    insurance_address_2: blankToNull(row.address2),
    insurance_city: blankToNull(row.city),
    insurance_state: blankToNull(row.state),
    insurance_zip: blankToNull(row.zip),
    medicaid_id: blankToNull(row.medicaidId),
  };
}

export const LineItem = Type.Object({
  lineItemId: id,
  lineNumber: Type.Integer(),
  cptCode: textOrNull,
  description: textOrNull,
  modifiers: Type.Array(text),
  units: Type.Number(),
  billedAmount: money,
  allowedAmount: moneyOrNull,
  billedUnitFee: moneyOrNull,
  icdPointers: Type.Array(text),
  placeOfService: textOrNull,
  typeOfService: textOrNull,
  serviceDateStart: textOrNull,
  serviceDateEnd: textOrNull,
  renderingNpi: textOrNull,
  orderingNpi: textOrNull,
  referringNpi: textOrNull,
});

export function toLineItem(row: Static<typeof LineItem>): ClaimSource['line_items'][number] {
  return {
    id: row.lineItemId,
    line_number: row.lineNumber,
    cpt_code: blankToNull(row.cptCode),
    description: blankToNull(row.description),
    modifiers: row.modifiers,
    units: row.units,
    billed_amount: dollars(row.billedAmount),
    allowed_amount: dollars(row.allowedAmount),
    billed_unit_fee: dollars(row.billedUnitFee),
    icd_pointers: row.icdPointers,
    place_of_service: blankToNull(row.placeOfService),
    type_of_service: blankToNull(row.typeOfService),
    service_date_start: isoDate(row.serviceDateStart),
    service_date_end: isoDate(row.serviceDateEnd),
    rendering_provider_npi: blankToNull(row.renderingNpi),
    ordering_provider_npi: blankToNull(row.orderingNpi),
    referring_provider_npi: blankToNull(row.referringNpi),
  };
}

export const Payment = Type.Object({
  paymentId: id,
  checkNumber: textOrNull,
  paymentDate: textOrNull,
  amount: money,
  paymentType: textOrNull,
  payerName: textOrNull,
  payerType: textOrNull,
  adjustment: moneyOrNull,
  deductible: moneyOrNull,
  coinsurance: moneyOrNull,
  allowed: moneyOrNull,
  memberBalance: moneyOrNull,
  withheld: moneyOrNull,
  eraClaimStatus: textOrNull,
  eraClaimStatusCode: textOrNull,
  eraPayerName: textOrNull,
  eraCheckAmount: moneyOrNull,
  eraAdjustmentCodes: Type.Union([Type.Record(Type.String(), money), Type.Null()]),
});

export function toPayment(row: Static<typeof Payment>): ClaimSource['payments'][number] {
  const codes = row.eraAdjustmentCodes;
  return {
    id: row.paymentId,
    emr_payment_id: row.paymentId,
    check_number: blankToNull(row.checkNumber),
    payment_date: isoDate(row.paymentDate),
    amount: dollars(row.amount),
    payment_type: blankToNull(row.paymentType),
    payer_name: blankToNull(row.payerName),
    payer_type: blankToNull(row.payerType),
    adjustment: dollars(row.adjustment),
    deductible: dollars(row.deductible),
    coinsurance: dollars(row.coinsurance),
    allowed: dollars(row.allowed),
    member_balance: dollars(row.memberBalance),
    withheld: dollars(row.withheld),
    era_claim_status: blankToNull(row.eraClaimStatus),
    era_claim_status_code: blankToNull(row.eraClaimStatusCode),
    era_payer_name: blankToNull(row.eraPayerName),
    era_check_amount: dollars(row.eraCheckAmount),
    era_adjustment_codes:
      codes && Object.fromEntries(Object.entries(codes).map(([code, amount]) => [code, dollars(amount)])),
  };
}

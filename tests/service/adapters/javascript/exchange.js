// The exchange of test_ofrep.py by OpenFeature's provider for JavaScript; what it saw as JSON.
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OpenFeature } from "@openfeature/server-sdk";

const [address, key] = process.argv.slice(2);

async function client(headers) {
  await OpenFeature.setProviderAndWait(new OFREPProvider({ baseUrl: address, headers }));
  return OpenFeature.getClient();
}

const shop = await client({ Authorization: `Bearer ${key}` });
const ann = { targetingKey: "js-ann", device: "phone", user: { age: 52 }, plan: "gold" };
const seen = {
  chosen: await shop.getStringDetails("shop", "none", ann),
  noFlag: await shop.getStringDetails("nothing", "none", ann),
  noTask: await shop.getStringDetails("shop", "none", {}),
  badContext: await shop.getStringDetails("shop", "none", { ...ann, rain: "maybe" }),
  otherType: await shop.getNumberDetails("shop", 7, ann),
};
const reward = await fetch(`${address}/v1/bandits/shop/rewards`, {
  method: "POST",
  headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
  body: JSON.stringify({ decision: seen.chosen.flagMetadata.decision, value: 1 }),
});
seen.outcome = (await reward.json()).outcome;
seen.byOtherHeader = await (await client({ "X-API-Key": key })).getStringDetails("shop", "none", ann);
seen.noKey = await (await client({})).getStringDetails("shop", "none", ann);
console.log(JSON.stringify(seen));

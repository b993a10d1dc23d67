// The page of a moment.
import { fields, fill, open } from "./shell.js";

const show = (channel) => {
  const own = fields(channel.shown);
  fill("job", own.get("job"));
  fill("cable", own.get("cable"));
};
const { ask, listen } = await open({ show });
listen({});
ask();

// Makes text that a peer sent harmless to a reader's eye. That it is harmless to the page is seen to by text nodes.

// Controls but tab and line feed; bidirectional controls; separators, annotations, the byte order mark; what is invisible yet
// changes or carries text. The joiners stay, since scripts and emoji need them.
const HARMFUL =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028\u2029\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Text of one or more lines, with U+FFFD for each harmful character. */
export function block(text) {
  return String(text).replaceAll("\r\n", "\n").replace(HARMFUL, "\ufffd");
}

/** Text for one line. */
export function line(text) {
  return block(text).replace(/[\n\t]/g, " ");
}

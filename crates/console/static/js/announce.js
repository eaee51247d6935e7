// Tells those who listen to the page what those who look at it see happen.

const place = () => document.getElementById("announcer");
let waiting = null;

/** Says a sentence, once the one before has had time to be begun. Only the newest of those that wait is said. */
export function announce(sentence) {
  const idle = waiting === null;
  waiting = sentence;
  if (idle) setTimeout(say, 250);
}

function say() {
  place().textContent = waiting;
  waiting = null;
}

// What the provider remembers, in one place for every set of its keys; a plain map is enough for a test's life.

const kept = new Map();

export class Storage {
  constructor(model) {
    this.model = model;
  }

  async upsert(id, payload) {
    kept.set(`${this.model}:${id}`, payload);
  }

  async find(id) {
    return kept.get(`${this.model}:${id}`);
  }

  #by(member, value) {
    const own = [...kept].filter(([key]) => key.startsWith(`${this.model}:`));
    return own.map(([, payload]) => payload).find((payload) => payload[member] === value);
  }

  async findByUid(uid) {
    return this.#by('uid', uid);
  }

  async findByUserCode(code) {
    return this.#by('userCode', code);
  }

  async consume(id) {
    kept.get(`${this.model}:${id}`).consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id) {
    kept.delete(`${this.model}:${id}`);
  }

  async revokeByGrantId(grant) {
    for (const [key, payload] of kept) if (payload.grantId === grant) kept.delete(key);
  }
}

// The user of a session: the harness answers with the next step, and with the result of a call, when its time
// has come. `NODE_EXTRA_CA_CERTS` names the certificate of the address.
export class Script {
  constructor({ base_url: url }) {
    this.url = url;
  }

  /** The next step of the user, or null at the end. */
  next() {
    return this.#get('/user');
  }

  /** The result of a call, when its tool has ended. */
  result({ id, name }) {
    return this.#get(`/result?${new URLSearchParams({ id: id ?? '', name: name ?? '' })}`);
  }

  async #get(path) {
    return (await fetch(this.url + path)).json();
  }
}

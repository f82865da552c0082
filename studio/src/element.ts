// <aqmlab-queue>: a queue that runs, in any web page; docs/studio.md describes it. It is the studio in a frame, so nothing of the two mixes.

/** What the address of the frame says; schemes stand apart by spaces. */
const ATTRIBUTES = ["scenario", "aqm", "seed", "speed", "state"];

class Queue extends HTMLElement {
  static observedAttributes = ATTRIBUTES;
  private frame = document.createElement("iframe");

  constructor() {
    super();
    const style = new CSSStyleSheet();
    style.replaceSync(":host { display: block; height: 44rem } :host([hidden]) { display: none } iframe { width: 100%; height: 100%; border: 1px solid #8884; border-radius: 6px }");
    const root = this.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = [style];
    root.append(this.frame);
    this.frame.loading = "lazy";
    this.frame.allow = "clipboard-write";
  }

  connectedCallback(): void {
    this.show();
  }

  attributeChangedCallback(): void {
    if (this.isConnected) this.show();
  }

  private show(): void {
    const given = (name: string): string => this.getAttribute(name)?.trim() ?? "";
    const aqms = given("aqm").split(/\s+/).filter(Boolean);
    const query = new URLSearchParams([["embed", ""], ...aqms.map((aqm) => ["aqm", aqm])]);
    for (const name of ["scenario", "seed", "speed"]) if (given(name)) query.set(name, given(name));
    const state = given("state");
    const address = `${new URL(".", import.meta.url)}?${query}${state && state.slice(state.indexOf("#"))}`;
    this.frame.title = `Live queue: ${given("scenario") || "an uplink"} under ${aqms.join(", ") || "its scheme"}`;
    if (this.frame.src !== address) this.frame.src = address;
  }
}

customElements.define("aqmlab-queue", Queue);

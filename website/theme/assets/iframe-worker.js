// Search from disk. Browsers start no worker on a page of file://, so there a worker is a frame of the same origin whose
// scripts run in this thread. On a page of a server nothing is changed.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body ? document.body.append(this.frame) : document.documentElement.append(this.frame)
      const inside = this.frame.contentWindow
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.importScripts = (...urls) =>
        urls.reduce((before, one) => before.then(() => this.load(new URL(one, url).href)), Promise.resolve())
      this.loaded = this.load(new URL(url, document.baseURI).href)
    }
    load(url) {
      return new Promise((resolve, reject) => {
        const script = this.frame.contentDocument.createElement("script")
        script.src = url
        script.onload = () => resolve()
        script.onerror = () => reject(new Error(`${url} cannot be loaded.`))
        this.frame.contentDocument.body.append(script)
      })
    }
    postMessage(data) {
      this.loaded.then(() => {
        const inside = this.frame.contentWindow
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      })
    }
    terminate() {
      this.frame.remove()
    }
  }
}

// Search results quote the pages they found. Opened from disk, a page may not read another one,
// so there the quotes come from texts.js, which build.py writes next to this file.
if (location.protocol === 'file:' && /search\.html$/.test(location.pathname)) {
  const src = new URL('texts.js', document.currentScript.src)
  const texts = new Promise(done => {
    const s = document.createElement('script')
    s.src = src; s.onload = () => done(window.TEXTS); s.onerror = () => done({})
    document.head.append(s)
  })
  const root = new URL('../', src).href
  // a hit in a section is quoted from its page, whose text has no anchors
  addEventListener('DOMContentLoaded', () => {
    const plain = Search.htmlToText
    Search.htmlToText = page => plain.call(Search, page)
  })
  window.fetch = async url => {
    const page = decodeURIComponent(new URL(url, location.href).href.replace(root, '').replace(/[?#].*/, ''))
    const main = document.createElement('div')
    main.setAttribute('role', 'main'); main.textContent = (await texts)[page] || ''
    return new Response(main.outerHTML)
  }
}

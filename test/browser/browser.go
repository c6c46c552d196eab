// Package browser drives a headless Chromium for tests of the page. hack/chromium.sh installs one.
package browser

import (
	"cmp"
	"context"
	"os"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Tab is one tab of a browser of its own.
type Tab struct {
	testing.TB
	ctx context.Context //nolint:containedctx // chromedp identifies a tab by its context.
}

// limit is how long one action may take: a machine under load needs long to start a browser.
const limit = time.Minute

// New starts a browser, which ends with the test.
func New(t testing.TB) Tab {
	t.Helper()
	path := os.Getenv("CHROMIUM")
	if path == "" {
		t.Fatal("no browser to test with: run make browser, which sets CHROMIUM to the one that hack/chromium.sh finds or installs")
	}
	allocator, stop := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true),
	)...)
	t.Cleanup(stop)
	ctx, end := chromedp.NewContext(allocator)
	t.Cleanup(end)
	tab := Tab{t, ctx}
	tab.must(chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900)))
	return tab
}

func (b Tab) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b Tab) do(steps ...chromedp.Action[chromedp.Void]) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	b.must(chromedp.Do(ctx, steps...))
}

// Open loads an address.
func (b Tab) Open(address string) {
	b.Helper()
	b.do(chromedp.Navigate(address))
}

// Click clicks on the first element of a CSS selector.
func (b Tab) Click(selector string) {
	b.Helper()
	b.do(chromedp.Click(chromedp.CSS(selector)))
}

// Press presses keys.
func (b Tab) Press(keys string) {
	b.Helper()
	b.do(chromedp.KeyEvent(keys))
}

// Type types a text into an element.
func (b Tab) Type(selector, text string) {
	b.Helper()
	b.do(chromedp.SendKeys(chromedp.CSS(selector), text))
}

// Wait waits until a JavaScript expression is true, also while another page is loaded.
func (b Tab) Wait(expression string) {
	b.Helper()
	var last error
	err := wait.PollUntilContextTimeout(b.ctx, 50*time.Millisecond, limit, true, func(ctx context.Context) (is bool, _ error) {
		is, last = chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
		return is, nil
	})
	if err != nil {
		b.Fatalf("waiting for %s: %v; the page shows\n%s", expression, cmp.Or(last, err), Value[string](b, "document.body.innerText"))
	}
}

// Resize changes the size of the viewport.
func (b Tab) Resize(width, height int64) {
	b.Helper()
	b.do(chromedp.EmulateViewport(width, height))
}

// Prefer shows the page as for users who prefer the colors "light" or "dark".
func (b Tab) Prefer(scheme string) {
	b.Helper()
	_, err := chromedp.Call(b.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
	b.must(err)
}

// Screenshot writes the elements of a CSS selector to a file.
func (b Tab) Screenshot(selector, file string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	image, err := chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSSAll(selector)))
	b.must(err)
	image, err = indexed(image)
	b.must(err)
	b.must(os.WriteFile(file, image, 0o600))
}

// Value returns the value of a JavaScript expression, also of a Promise.
func Value[T any](b Tab, expression string) T {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, limit)
	defer cancel()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.Fatalf("%s: %v", expression, err)
	}
	return value
}

package storage

import (
	"fmt"
	"sync"
)

type counter struct {
	mutex     sync.Mutex
	done, all int
	report    ReportFunc
}

func (t *counter) add(n int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.done += n
	t.print(false)
}

func (t *counter) end() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.print(true)
}

func (t *counter) print(final bool) {
	t.report(Progress{Line: fmt.Sprintf("rewritten %d of %d objects", t.done, t.all), Done: t.done, All: t.all, Final: final})
}

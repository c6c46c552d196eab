package storage

import (
	"fmt"
	"sync"
)

// tally counts the objects that are rewritten, side by side, and tells each.
type tally struct {
	mutex     sync.Mutex
	done, all int
	tell      Tell
}

func (t *tally) add(n int) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.done += n
	t.say(false)
}

// end tells the number that it has come to.
func (t *tally) end() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.say(true)
}

func (t *tally) say(final bool) {
	t.tell(Progress{Line: fmt.Sprintf("rewritten %d of %d objects", t.done, t.all), Done: t.done, All: t.all, Final: final})
}

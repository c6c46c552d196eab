package audit

// truth is the answer to a question: no, maybe or yes. Reason is why it is not yes.
type truth struct {
	of     certainty
	reason string
	// failed reports whether an expression ends with an error.
	failed bool
}

type certainty int

const (
	no certainty = iota
	maybe
	yes
)

var (
	isTrue  = truth{of: yes}
	isFalse = truth{of: no}
)

func perhaps(reason string) truth { return truth{of: maybe, reason: reason} }

// of returns yes or no.
func of(is bool) truth {
	if is {
		return isTrue
	}
	return isFalse
}

// and returns the least certain of several answers: the first of them.
func and(answers ...func() truth) truth {
	least := isTrue
	for _, answer := range answers {
		if a := answer(); a.of < least.of {
			least = a
		}
		if least.of == no {
			break
		}
	}
	return least
}

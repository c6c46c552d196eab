package write

import "regexp"

var (
	localAddress = regexp.MustCompile(`\b(read|write|dial) (tcp|udp) [^ >]+->`)
	requestID    = regexp.MustCompile(`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)
)

// Text returns the text of an error without what differs in each attempt: local ports, and identifiers of requests,
// which webhooks put into their denials. It ends up in a status, where a new text is a write.
func Text(err error) string {
	text := localAddress.ReplaceAllString(err.Error(), "$1 $2 ")
	return requestID.ReplaceAllString(text, "(id)")
}

// stable has the text of Text, and is the error otherwise.
type stable struct{ error }

func (s stable) Error() string { return Text(s.error) }

func (s stable) Unwrap() error { return s.error }

// Package streams is an HTTP/2 client for tests that opens, leaves open and resets streams.
package streams

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// Conn is one connection. Its methods are for one goroutine.
type Conn struct {
	conn   *tls.Conn
	framer *http2.Framer
	next   uint32
	pongs  chan struct{}

	// Refused is closed when the server ends the connection because of too many streams.
	Refused chan struct{}
}

// Dial connects to an address and trusts any certificate.
func Dial(ctx context.Context, address string) (*Conn, error) {
	dialer := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}} //nolint:gosec // G402: a client of tests
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &Conn{conn: conn.(*tls.Conn), next: 1, pongs: make(chan struct{}, 1), Refused: make(chan struct{})}
	c.framer = http2.NewFramer(c.conn, c.conn)
	if _, err := io.WriteString(c.conn, http2.ClientPreface); err != nil {
		return nil, err
	}
	if err := c.framer.WriteSettings(); err != nil {
		return nil, err
	}
	go c.read()
	return c, nil
}

// Close closes the connection.
func (c *Conn) Close() { c.conn.Close() }

func (c *Conn) read() {
	defer close(c.pongs)
	for {
		frame, err := c.framer.ReadFrame()
		if err != nil {
			return
		}
		switch f := frame.(type) {
		case *http2.PingFrame:
			if f.IsAck() {
				c.pongs <- struct{}{}
			}
		case *http2.GoAwayFrame:
			if f.ErrCode == http2.ErrCodeEnhanceYourCalm {
				close(c.Refused)
				return
			}
		}
	}
}

// Open sends the headers of a POST that announces a JSON body of that length.
func (c *Conn) Open(path string, length int) (stream uint32, err error) {
	var block bytes.Buffer
	encoder := hpack.NewEncoder(&block)
	for _, field := range [][2]string{
		{":method", "POST"}, {":scheme", "https"}, {":authority", "webhook"}, {":path", path},
		{"content-type", "application/json"}, {"content-length", strconv.Itoa(length)},
	} {
		if err := encoder.WriteField(hpack.HeaderField{Name: field[0], Value: field[1]}); err != nil {
			return 0, err
		}
	}
	stream = c.next
	c.next += 2
	return stream, c.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: block.Bytes(), EndHeaders: true})
}

// Post sends a whole request.
func (c *Conn) Post(path string, body []byte) (stream uint32, err error) {
	if stream, err = c.Open(path, len(body)); err != nil {
		return 0, err
	}
	return stream, c.framer.WriteData(stream, true, body)
}

// Reset cancels a stream.
func (c *Conn) Reset(stream uint32) error {
	return c.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
}

// Ping returns when the server has processed all frames that were sent before.
func (c *Conn) Ping() error {
	if err := c.framer.WritePing(false, [8]byte{}); err != nil {
		return err
	}
	if _, alive := <-c.pongs; !alive {
		return fmt.Errorf("the server has closed the connection")
	}
	return nil
}

// chat.go: the chat that one would write in Go: a goroutine reads each client, another one writes to it, and a lock
// guards the rooms. A client that does not keep up is disconnected.
//
// usage: chat. Lines: "join ROOM", "leave ROOM", "who ROOM", "say ROOM TEXT"; each is answered by a line that begins
// with "=". It is what benches/meeting.py compares with; the lines are those of tests/meeting/meeting.nest.
package main

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"sync"
)

const held = 256 // messages that may wait for a client

type client struct {
	connection net.Conn
	messages   chan []byte
}

var (
	guard sync.RWMutex
	rooms = map[string]map[*client]bool{}
)

// The messages that wait are written together.
func (c *client) write() {
	out := bufio.NewWriter(c.connection)
	for message := range c.messages {
		out.Write(message)
		if len(c.messages) == 0 && out.Flush() != nil {
			break
		}
	}
	c.connection.Close()
}

func (c *client) send(message []byte) {
	select {
	case c.messages <- message:
	default:
		c.connection.Close()
	}
}

func (c *client) leave(room string) {
	delete(rooms[room], c)
	if len(rooms[room]) == 0 {
		delete(rooms, room)
	}
}

func (c *client) command(verb, room, text string) int {
	switch verb {
	case "join":
		guard.Lock()
		defer guard.Unlock()
		if rooms[room] == nil {
			rooms[room] = map[*client]bool{}
		}
		rooms[room][c] = true
	case "leave":
		guard.Lock()
		defer guard.Unlock()
		c.leave(room)
	case "who":
		guard.RLock()
		defer guard.RUnlock()
		return len(rooms[room])
	case "say":
		guard.RLock()
		defer guard.RUnlock()
		message := []byte(text + "\n")
		for other := range rooms[room] {
			if other != c {
				other.send(message)
			}
		}
	}
	return 0
}

func serve(connection net.Conn) {
	c := &client{connection, make(chan []byte, held)}
	go c.write()
	c.send([]byte("=0\n"))
	lines := bufio.NewScanner(connection)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		for len(words) < 3 {
			words = append(words, "")
		}
		c.send([]byte(fmt.Sprintf("=%d\n", c.command(words[0], words[1], words[2]))))
	}
	guard.Lock()
	for room := range rooms {
		c.leave(room)
	}
	guard.Unlock()
	close(c.messages)
}

func main() {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println("listening on", listener.Addr())
	for {
		if connection, err := listener.Accept(); err == nil {
			go serve(connection)
		}
	}
}

package main

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver that the durable record uses
)

// recordSize is what one intent takes on the record, in bytes.
const recordSize = 200

// store is a table that makes each row durable before it answers: a write-ahead log
// that is flushed to the disk with every commit.
type store struct {
	db     *sql.DB
	insert *sql.Stmt
	row    []byte
}

func openStore(ctx context.Context, dir string) (*store, error) {
	dsn := "file:" + filepath.Join(dir, "record.db") +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	s := &store{db: db, row: make([]byte, recordSize)}
	if _, err := db.ExecContext(ctx, "CREATE TABLE record (seq INTEGER PRIMARY KEY, body BLOB NOT NULL)"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	if s.insert, err = db.PrepareContext(ctx, "INSERT INTO record (body) VALUES (?)"); err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return s, nil
}

func (s *store) add(ctx context.Context) error {
	_, err := s.insert.ExecContext(ctx, s.row)
	return err
}

func (s *store) close() error { return errors.Join(s.insert.Close(), s.db.Close()) }

export type Codec = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

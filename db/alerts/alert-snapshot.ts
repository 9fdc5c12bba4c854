export interface AlertSnapshot { readonly id: string | null }
